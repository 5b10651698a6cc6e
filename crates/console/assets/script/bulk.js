// A list with boxes: one ticks all of them, and the question says how many are ticked.
{
  const boxes = (form) => [...form.querySelectorAll('tbody input[type="checkbox"][name="id"]')];

  document.addEventListener('change', (event) => {
    const form = event.target.closest('form[data-bulk]');
    if (!form) return;
    if (event.target.hasAttribute('data-all')) for (const box of boxes(form)) box.checked = event.target.checked;
  });
  document.addEventListener('click', (event) => {
    const button = event.target.closest('form[data-bulk] button[name="verb"]');
    if (!button) return;
    const form = button.form;
    const count = boxes(form).filter((box) => box.checked).length;
    const word = button.textContent.trim();
    if (count === 0) return delete form.dataset.confirm;
    form.dataset.confirm = `${word} ${count} operation${count === 1 ? '' : 's'}?`;
    form.dataset.yes = word;
    form.dataset.reason = 'Reason, for the journal (optional)';
    form.toggleAttribute('data-harm', button.value === 'cancel');
  });
}
