// A message about something that runs goes away when the page shows its end.
{
  function pass() {
    if (!document.querySelector('[data-over]')) return;
    for (const flash of document.querySelectorAll('.flash[data-passing]')) flash.remove();
  }
  pass();
  document.addEventListener('htmx:after:swap', pass);
}
