// A draft of a launch stays in this tab after it was sent, so that it can be corrected and sent again. What may be
// secret does not.
{
  const SENT = 'launch-sent';
  const NOT_KEPT = ['_word', 'once', 'at', 'user_data'];
  document.addEventListener('submit', (event) => {
    const form = event.target.closest('form[data-draft]');
    if (!form || event.submitter?.hasAttribute('formaction')) return;
    const pairs = [...new FormData(form)].filter(([name]) => !NOT_KEPT.includes(name));
    sessionStorage.setItem(SENT, JSON.stringify(pairs));
  });
  const shown = document.querySelector('[data-launch]');
  if (shown) {
    const sent = sessionStorage.getItem(SENT);
    if (sent && document.referrer.includes('/console/launch/')) sessionStorage.setItem(`launch-${shown.dataset.launch}`, sent);
    sessionStorage.removeItem(SENT);
  }
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[data-again]');
    const sent = link && sessionStorage.getItem(`launch-${link.dataset.again}`);
    if (!sent) return;
    event.preventDefault();
    const word = document.querySelector('input[name="_word"]').value;
    const form = Object.assign(document.createElement('form'), { method: 'post', action: '/console/launch/image', hidden: true });
    for (const [name, value] of [['_word', word], ['at', 'image'], ...JSON.parse(sent)]) {
      form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
    }
    document.body.append(form);
    form.submit();
  });
}
