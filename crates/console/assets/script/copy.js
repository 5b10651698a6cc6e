// Buttons with data-copy put a text on the clipboard and say so.
{
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    const word = button.textContent;
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = word; }, 1500);
  });
}
