// The OpenID provider of npm (panva's oidc-provider), with people of any name. Reads its settings as JSON from the first argument:
// {modules, port, jwks, client_id, client_secret, redirect_uri, logout_uri, id_token_s}.
const settings = JSON.parse(process.argv[2]);
const { Provider } = await import(`${settings.modules}/node_modules/oidc-provider/lib/index.js`);

const provider = new Provider(`http://127.0.0.1:${settings.port}`, {
  clients: [
    {
      client_id: settings.client_id,
      client_secret: settings.client_secret,
      redirect_uris: [settings.redirect_uri],
      post_logout_redirect_uris: [settings.logout_uri],
    },
  ],
  jwks: settings.jwks,
  cookies: { keys: ["a key of the cookies"] },
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  ttl: { IdToken: settings.id_token_s, AccessToken: 600, AuthorizationCode: 60, Interaction: 600, Session: 600, Grant: 600 },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, name: "Ann" }) }),
});
provider.listen(settings.port, "127.0.0.1", () => console.log("ready"));
