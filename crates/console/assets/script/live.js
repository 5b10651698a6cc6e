// Parts that stay true: an element with data-live shows whatever the stream at that address sends, until it says that
// this was all.
{
  const RETRY_MS = 300, RETRY_MAX_MS = 3000, PATIENCE_MS = 10_000;
  const offline = document.getElementById('offline');

  class Live {
    #part;
    #source = null;
    #timer;
    #failures = 0;
    #shown = Promise.resolve();

    constructor(part) { this.#part = part; }

    get isGone() { return !this.#part.isConnected; }

    get #isOver() { return this.#part.dataset.state === 'over'; }

    open() {
      if (this.#source || this.#isOver) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#again(), PATIENCE_MS);
      this.#source = new EventSource(this.#part.dataset.live);
      this.#source.addEventListener('open', () => this.#opened());
      this.#source.addEventListener('message', (event) => this.#show(event.data));
      this.#source.addEventListener('end', () => this.close('over'));
      this.#source.addEventListener('signed-out', () => location.reload());
      this.#source.addEventListener('error', () => this.#again());
    }

    close(state) {
      clearTimeout(this.#timer);
      this.#source?.close();
      this.#source = null;
      if (!this.#isOver) this.#part.dataset.state = state;
    }

    #opened() {
      clearTimeout(this.#timer);
      this.#failures = 0;
      this.#part.dataset.state = 'live';
      offline.hidden = true;
    }

    // One after the other: what was sent later is what stays.
    #show(text) {
      const what = { sourceElement: this.#part, target: this.#part, swap: 'innerMorph swapEmpty:false', text };
      this.#shown = this.#shown.then(() => htmx.swap(what)).catch(console.error);
    }

    // A stream ends now and then without harm. Only one that cannot be opened again is worth a word.
    #again() {
      this.close('waiting');
      if (this.#failures > 0) offline.hidden = false;
      const wait = Math.min(RETRY_MS * 2 ** this.#failures, RETRY_MAX_MS) * (0.7 + 0.6 * Math.random());
      this.#failures += 1;
      this.#timer = setTimeout(() => this.open(), wait);
    }
  }

  const parts = new Map();

  function look() {
    for (const [part, live] of parts) {
      if (!live.isGone) continue;
      live.close('over');
      parts.delete(part);
    }
    for (const part of document.querySelectorAll('[data-live]')) {
      if (!parts.has(part)) parts.set(part, new Live(part));
    }
    // A browser opens few streams to one server: a hidden page has none.
    for (const live of parts.values()) document.hidden ? live.close('waiting') : live.open();
  }

  look();
  document.addEventListener('htmx:after:swap', look);
  document.addEventListener('visibilitychange', look);
}
