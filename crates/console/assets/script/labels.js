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
  if (isNarrow.matches) for (const fold of document.querySelectorAll('details[data-fold]')) {
    fold.open = [...fold.querySelectorAll('input, select')].some((field) => field.value);
  }
}
