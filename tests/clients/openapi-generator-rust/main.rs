//! One journey through the API with the client that openapi-generator makes of the description in Rust.

use std::{collections::HashSet, env, error::Error, sync::Arc};

use waymark_client::apis::{
    accounts_api::{LoginParams, RegisterParams},
    configuration::Configuration,
    links_api::{CreateLinkParams, CreateLinksParams, ListLinksParams},
    shares_api::CreateShareParams,
    statistics_api::GetLinkStatisticsParams,
    Api, ApiClient,
};
use waymark_client::models::{
    Credentials, GetLinkStatistics200Response, LinkCreation, LinksCreation, Registration, ShareCreation,
};

fn to(number: u32) -> LinkCreation {
    LinkCreation::new(format!("https://example.com/{number}"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().collect();
    let (email, password) = (arguments[2].clone(), "correct horse battery".to_string());
    let mut settings = Configuration { base_path: arguments[1].clone(), ..Default::default() };
    let client = ApiClient::new(Arc::new(settings.clone()));
    let registration = Registration::new(email.clone(), password.clone());
    client.accounts_api().register(RegisterParams { registration }).await?;
    let credentials = Credentials::new(email, password);
    let token = client.accounts_api().login(LoginParams { credentials }).await?.access_token;
    settings.bearer_access_token = Some(token.clone());
    let client = ApiClient::new(Arc::new(settings.clone()));
    println!("register");

    let params = CreateLinkParams::builder().link_creation(to(1)).build();
    let id = client.links_api().create_link(params).await?.link.id;
    println!("create");
    let params = CreateLinksParams::builder().links_creation(LinksCreation::new(vec![to(2), to(3)])).build();
    assert_eq!(client.links_api().create_links(params).await?.results[1].status, 201);
    println!("bulk");

    let (mut seen, mut cursor) = (HashSet::new(), None);
    loop {
        let params = ListLinksParams::builder().limit(2).maybe_cursor(cursor).build();
        let page = client.links_api().list_links(params).await?;
        seen.extend(page.links.into_iter().map(|link| link.slug));
        cursor = page.pagination.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 3);
    println!("page");

    let params = GetLinkStatisticsParams::builder().id(id).from("2026-01-01".to_string()).build();
    let GetLinkStatistics200Response::RangeStatistics(sums) = client.statistics_api().get_link_statistics(params).await?
    else {
        panic!("no statistics of a range");
    };
    assert_eq!(sums.humans, 0);
    println!("statistics");

    let share_creation = ShareCreation { link_id: Some(Some(id)), ..Default::default() };
    client.shares_api().create_share(CreateShareParams { share_creation }).await?;
    println!("share");

    let get = |path: String| settings.client.get(settings.base_path.clone() + &path).bearer_auth(&token).send();
    let csv = get(format!("/api/links/{id}/visits?format=csv")).await?.error_for_status()?;
    assert!(csv.text().await?.contains(','));
    println!("csv: by reqwest, because its methods parse JSON only");
    let mut live = get("/api/live".to_string()).await?.error_for_status()?;
    assert!(live.chunk().await?.is_some());
    println!("live: by reqwest, because its methods parse JSON only");
    Ok(())
}
