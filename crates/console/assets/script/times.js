// Times that go on while somebody looks.
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
    for (const time of document.querySelectorAll('time[data-when]')) {
      const apart = now - Date.parse(time.dateTime);
      const text = apart >= 0 ? `${span(apart)} ago` : `in ${span(-apart)}`;
      if (time.textContent !== text) time.textContent = text;
    }
  }

  tick();
  setInterval(tick, SECOND);
  document.addEventListener('htmx:after:swap', tick);
}
