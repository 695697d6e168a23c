import { useInstance } from "../app/instance";
import { usePlace } from "../app/router";
import { t, tMaybe } from "../i18n";

/** Why a login by a provider failed: the server puts the code into the address. */
export function SignInError() {
  const code = usePlace().params.get("error");
  const text = code && tMaybe(`problem.${code}`);
  return text ? (
    <div class="error-box" role="alert">
      <p>{text}</p>
    </div>
  ) : null;
}

const useProviders = () => useInstance()?.sign_in ?? [];

export function SignIn() {
  return (
    <>
      {useProviders().map(({ id, name }) => (
        <a class="button" key={id} href={`/api/auth/oidc/${id}`}>
          {t("sign_in.with", { name })}
        </a>
      ))}
    </>
  );
}

/** Ties the login at a provider to the account of this session. */
export function Ties() {
  const providers = useProviders();
  const isTied = usePlace().params.has("tied");
  if (providers.length === 0) return null;
  return (
    <section class="card form">
      <h2>{t("sign_in")}</h2>
      <p class="muted">{t("sign_in.hint")}</p>
      <SignInError />
      {isTied && <p role="status">{t("sign_in.tied")}</p>}
      <div class="button-row">
        {providers.map(({ id, name }) => (
          <a class="button" key={id} href={`/api/auth/oidc/${id}?link=1`}>
            {t("sign_in.tie", { name })}
          </a>
        ))}
      </div>
    </section>
  );
}
