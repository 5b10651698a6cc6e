// The menu of small screens closes with Escape, as does the card of the user.
{
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    for (const open of document.querySelectorAll('.who[open], .menu-fold[open]')) {
      open.open = false;
      open.querySelector('summary').focus();
    }
  });
}
