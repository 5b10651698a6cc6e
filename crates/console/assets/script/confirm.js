// Forms with data-confirm ask in a dialog first; without a script they lead to a page that asks.
{
  document.addEventListener('submit', (event) => {
    const form = event.target.closest('form[data-confirm]');
    if (!form || form.dataset.confirmed) return;
    event.preventDefault();
    const dialog = document.createElement('dialog');
    dialog.setAttribute('aria-labelledby', 'confirm-text');
    const text = document.createElement('p');
    text.id = 'confirm-text';
    text.className = 'lead';
    text.textContent = form.dataset.confirm;
    const row = document.createElement('div');
    row.className = 'row';
    const no = document.createElement('button');
    no.textContent = form.dataset.no || 'Back';
    const yes = document.createElement('button');
    yes.textContent = form.dataset.yes || 'Yes';
    yes.className = form.hasAttribute('data-harm') ? 'danger' : 'primary';
    row.append(yes, no);
    const reason = document.createElement('input');
    if (form.dataset.reason) {
      const label = Object.assign(document.createElement('label'), { className: 'field', textContent: form.dataset.reason });
      reason.maxLength = 500;
      label.append(reason);
      dialog.append(text, label, row);
    } else dialog.append(text, row);
    document.body.append(dialog);
    dialog.addEventListener('close', () => dialog.remove());
    no.addEventListener('click', () => dialog.close());
    yes.addEventListener('click', () => {
      dialog.close();
      const said = { confirmed: 'yes', ...(form.dataset.reason && { reason: reason.value }) };
      const inputs = Object.entries(said).map(([name, value]) =>
        Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
      form.append(...inputs);
      form.dataset.confirmed = 'yes';
      form.requestSubmit(event.submitter);
      // A user who comes back to this page is asked again.
      delete form.dataset.confirmed;
      for (const input of inputs) input.remove();
    });
    dialog.showModal();
    no.focus();
  });
}
