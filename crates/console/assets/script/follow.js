// A list that grows is followed to its end while the switch beside it is on.
{
  function follow() {
    for (const on of document.querySelectorAll('input[data-follow]:checked')) {
      const list = document.getElementById(on.dataset.follow);
      if (list) list.scrollTop = list.scrollHeight;
    }
  }
  document.addEventListener('htmx:after:swap', follow);
  document.addEventListener('change', (event) => { if (event.target.matches('input[data-follow]')) follow(); });
  if (!location.hash) follow();
}
