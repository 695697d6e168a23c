type Kind = "DateTimeFormat" | "DisplayNames" | "NumberFormat" | "PluralRules" | "RelativeTimeFormat";
type Formatters = { [K in Kind]: InstanceType<(typeof Intl)[K]> };
type Options<K extends Kind> = ConstructorParameters<(typeof Intl)[K]>[1];

const kept = new Map<string, unknown>();

/**
 * A formatter of Intl. To make one takes about 30 times as long as to format a value, so each is kept: one for each locale and options that the code, the languages and the chosen
 * zones know. Throws what the constructor throws.
 */
export function intl<K extends Kind>(kind: K, locale: string, options?: Options<K>): Formatters[K] {
  const key = JSON.stringify([kind, locale, options]);
  const make = Intl[kind] as unknown as new (locale: string, options?: Options<K>) => Formatters[K];
  if (!kept.has(key)) kept.set(key, new make(locale, options));
  return kept.get(key) as Formatters[K];
}
