//! That a page with something wrong would be found.

use crate::axe;
use crate::house::House;
use crate::person::Person;
use crate::pictures::sticks_out;

#[test]
fn what_is_wrong_with_a_page_is_found() {
    let house = House::open();
    let person = Person::new(&house.url);
    person.go("/console/sign-in");
    person.expect_no_complaint();
    assert_eq!(axe::faults(&person), "");
    assert_eq!(sticks_out(&person), Vec::<String>::new());

    person.script("document.querySelector('label[for=name]').remove()", &[]);
    let faults = axe::faults(&person);
    assert!(faults.contains("label") && faults.contains("id=\"name\""), "{faults}");

    // The policy forbids it, and the browser says so.
    person.script("document.querySelector('h1').setAttribute('style', 'color: red')", &[]);
    let complaints = person.complaints();
    assert!(complaints.iter().any(|line| line.contains("Content Security Policy")), "{complaints:?}");
    person.script("fetch('/console/assets/none/none.css').catch(() => {})", &[]);
    person.until_complaint("404");

    let wide = "document.querySelector('h1').textContent = 'wide'.repeat(1000)";
    person.script(wide, &[]);
    let wide = sticks_out(&person);
    assert!(wide.iter().any(|one| one.starts_with("<h1")), "{wide:?}");
}
