// Updates relative times while the page is visible.
{
  const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

  function span(ms) {
    if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
    if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
    if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
    const days = Math.floor(ms / DAY);
    return days === 1 ? '1 day' : `${days} days`;
  }

  function tick() {
    const now = Date.now();
    for (const time of document.querySelectorAll('time[data-since]')) {
      const text = span(Math.max(0, now - Date.parse(time.dateTime)));
      if (time.textContent !== text) time.textContent = text;
    }
    for (const time of document.querySelectorAll('time[data-when]')) {
      const apart = now - Date.parse(time.dateTime);
      const text = apart >= 0 ? `${span(apart)} ago` : `in ${span(-apart)}`;
      if (time.textContent !== text) time.textContent = text;
    }
  }

  // Times of a day are those of the browser, with its zone in the title.
  const pad = (number, digits) => String(number).padStart(digits, '0');
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

  function local() {
    for (const time of document.querySelectorAll('time[data-clock]:not([data-local])')) {
      const at = new Date(time.dateTime);
      time.dataset.local = 'yes';
      time.title = `${full.format(at)} (${time.dateTime})`;
      time.textContent = `${pad(at.getHours(), 2)}:${pad(at.getMinutes(), 2)}:${pad(at.getSeconds(), 2)}.${pad(at.getMilliseconds(), 3)}`;
    }
    for (const time of document.querySelectorAll('time[data-when]:not([data-local])')) {
      time.dataset.local = 'yes';
      time.title = full.format(new Date(time.dateTime));
    }
    for (const name of document.querySelectorAll('[data-zone]')) name.textContent = zone;
  }

  local();
  document.addEventListener('htmx:after:swap', local);
  tick();
  setInterval(tick, SECOND);
  document.addEventListener('htmx:after:swap', tick);
}
