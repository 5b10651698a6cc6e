// "/" and Ctrl-K lead to the search box, unless something is being typed.
{
  document.addEventListener('keydown', (event) => {
    const box = document.getElementById('q');
    const isTyping = event.target.closest?.('input, textarea, select, dialog, [contenteditable]');
    const isSlash = event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey;
    const isCtrlK = event.key === 'k' && (event.ctrlKey || event.metaKey);
    if (!box || !(isSlash || isCtrlK)) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
}
