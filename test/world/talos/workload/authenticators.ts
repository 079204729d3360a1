import { X509Certificate } from 'node:crypto';
import { type Fields, fieldsAt, listAt, textAt } from '../config/fields.ts';

const maximumAuthenticators = 64;

/**
 * Why a kube-apiserver would not start with these authenticators of its AuthenticationConfiguration (apiserver:
 * pkg/apis/apiserver/validation/validation.go, without expressions), in its own words.
 */
export function authenticatorErrors(jwt: readonly Fields[], ownIssuers: readonly string[]): string[] {
  if (jwt.length > maximumAuthenticators)
    return [`jwt: Too many: ${jwt.length}: must have at most ${maximumAuthenticators} items`];
  const urls = jwt.map((one) => textAt(one, 'issuer.url'));
  return jwt.flatMap((one, i) => [
    ...issuerErrors(one, ownIssuers).map((error) => `jwt[${i}].issuer.${error}`),
    ...mappingErrors(fieldsAt(one, 'claimMappings.username'), true).map(
      (error) => `jwt[${i}].claimMappings.username${error}`,
    ),
    ...mappingErrors(fieldsAt(one, 'claimMappings.groups'), false).map(
      (error) => `jwt[${i}].claimMappings.groups${error}`,
    ),
    ...ruleErrors(one).map((error) => `jwt[${i}].${error}`),
    ...(urls.indexOf(urls[i] ?? '') < i ? [`jwt[${i}].issuer.url: Duplicate value`] : []),
  ]);
}

function issuerErrors(jwt: Fields, ownIssuers: readonly string[]): string[] {
  const url = textAt(jwt, 'issuer.url');
  const discovery = textAt(jwt, 'issuer.discoveryURL');
  const audiences = listAt(jwt, 'issuer.audiences').map(String);
  const ca = textAt(jwt, 'issuer.certificateAuthority');
  return [
    ...(url === '' ? ['url: Required value'] : urlErrors(url).map((error) => `url: Invalid value: ${error}`)),
    ...(ownIssuers.includes(url) ? ['url: Invalid value: URL must not overlap with disallowed issuers'] : []),
    ...(discovery === '' ? [] : urlErrors(discovery).map((error) => `discoveryURL: Invalid value: ${error}`)),
    ...(audiences.length === 0 || audiences.includes('') ? ['audiences: Required value'] : []),
    ...(new Set(audiences).size < audiences.length ? ['audiences: Duplicate value'] : []),
    ...(audiences.length > 1 && textAt(jwt, 'issuer.audienceMatchPolicy') !== 'MatchAny'
      ? ['audienceMatchPolicy: Invalid value: audienceMatchPolicy must be MatchAny for multiple audiences']
      : []),
    ...(ca === '' || isBundle(ca) ? [] : ['certificateAuthority: Invalid value: "<omitted>"']),
  ];
}

/** The errors of kube-apiserver for an issuer URL. */
export function urlErrors(text: string): string[] {
  if (!URL.canParse(text)) return [`parse ${JSON.stringify(text)}: invalid URL`];
  const { protocol, username, password } = new URL(text);
  return [
    ...(protocol === 'https:' ? [] : ['URL scheme must be https']),
    ...(username || password ? ['URL must not contain a username or password'] : []),
    ...(/^[^#]*\?./.test(text) ? ['URL must not contain a query'] : []),
    ...(/#./.test(text) ? ['URL must not contain a fragment'] : []),
  ];
}

function mappingErrors(mapping: Fields, isRequired: boolean): string[] {
  const [claim, expression] = [textAt(mapping, 'claim'), textAt(mapping, 'expression')];
  if (claim !== '' && expression !== '') return [": Invalid value: claim and expression can't both be set"];
  if (claim === '' && expression === '') return isRequired ? [': Required value: claim or expression is required'] : [];
  const hasPrefix = mapping['prefix'] !== undefined;
  if (claim !== '' && !hasPrefix) return ['.prefix: Required value'];
  return expression !== '' && hasPrefix ? ['.prefix: Invalid value: may not be specified when expression is set'] : [];
}

function ruleErrors(jwt: Fields): string[] {
  const expressions = listAt(jwt, 'userValidationRules').map((rule) => textAt(rule, 'expression'));
  return [
    ...(expressions.includes('') ? ['userValidationRules: Required value'] : []),
    ...(new Set(expressions).size < expressions.length ? ['userValidationRules: Duplicate value'] : []),
  ];
}

/** At least one certificate, all of them complete. */
function isBundle(text: string): boolean {
  const found = text.match(/^-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/gm) ?? [];
  try {
    return found.length > 0 && found.every((one) => new X509Certificate(one).subject !== undefined);
  } catch {
    return false;
  }
}
