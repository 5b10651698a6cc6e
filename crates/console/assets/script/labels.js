// On a phone a row of a table is a card: each cell has the head of its column in front. What folds begins folded there.
{
  const isNarrow = matchMedia('(max-width: 52rem)');

  function label() {
    for (const table of document.querySelectorAll('.table > table')) {
      const heads = [...table.querySelectorAll('thead th')].map((head) => head.textContent.replace(/[▲▼]/g, '').trim());
      for (const row of table.querySelectorAll('tbody > tr')) {
        [...row.children].forEach((cell, nth) => { if (heads[nth]) cell.dataset.label = heads[nth]; });
      }
      table.classList.add('labelled');
    }
  }

  label();
  document.addEventListener('htmx:after:swap', label);
  // A wide page has nothing to open them with.
  function fold() {
    for (const one of document.querySelectorAll('details[data-fold]')) {
      one.open = !isNarrow.matches || [...one.querySelectorAll('input, select')].some((field) => field.value);
    }
  }

  if (isNarrow.matches) fold();
  isNarrow.addEventListener('change', fold);
}
