//! The program: the platform with one product.

fn main() -> std::process::ExitCode {
    app::App::new("own-product").product::<own_product::Domains>().run()
}
