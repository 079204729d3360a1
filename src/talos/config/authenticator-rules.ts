import { withoutTail } from '../../lib/text.ts';
import { whyNotCaBundle } from './ca-bundle.ts';
import { type ExpressionKind, keepsSystemOut, prefixOf, whyNotExpression } from './cel-forms.ts';
import { type ConfigDocument, isRecord, recordsAt } from './document.ts';
import {
  canNameSystem,
  systemPrefix,
  whyNotClaim,
  whyNotClientId,
  whyNotIssuer,
  whyNotPrefix,
} from './oidc-grammar.ts';

/** kube-apiserver takes no more. */
const mostAuthenticators = 64;

/** The keys of an authenticator and of its parts, which are decoded strictly. */
const keys = {
  top: 'issuer claimValidationRules claimMappings userValidationRules',
  issuer: 'url discoveryURL certificateAuthority audiences audienceMatchPolicy',
  claimMappings: 'username groups uid extra',
  mapping: 'claim prefix expression',
  claimRule: 'claim requiredValue expression message',
  userRule: 'expression message',
  extra: 'key valueExpression',
} as const;

/**
 * What kube-apiserver would not start with among the `jwt` of an AuthenticationConfiguration, or what would let an issuer
 * speak for Kubernetes itself: sentences that begin with the path.
 */
export function findAuthenticatorProblems(jwt: unknown, path: string, ownIssuers: readonly unknown[]): string[] {
  if (jwt === undefined || jwt === null) return [];
  if (!Array.isArray(jwt) || !jwt.every(isRecord)) return [`${path} must be a list of authenticators.`];
  if (jwt.length > mostAuthenticators) return [`${path} must not hold more than ${mostAuthenticators} authenticators.`];
  const urls = jwt.flatMap(({ issuer }) => (isRecord(issuer) ? [issuer['url'], issuer['discoveryURL']] : []));
  const named = urls.filter((url) => url !== undefined && url !== '');
  const doubled = named.find((url, i) => named.indexOf(url) !== i);
  return [
    ...(doubled === undefined ? [] : [`${path}: ${String(doubled)} is there more than once. Keep one.`]),
    ...jwt.flatMap((one, i) => ofAuthenticator(one, `${path}[${i}]`, ownIssuers)),
  ];
}

function ofAuthenticator(one: ConfigDocument, path: string, ownIssuers: readonly unknown[]): string[] {
  const { issuer, claimMappings, claimValidationRules, userValidationRules } = one;
  return [
    ...unknownKeys(one, keys.top, path),
    ...ofIssuer(issuer, `${path}.issuer`, ownIssuers),
    ...ofMappings(claimMappings, one, `${path}.claimMappings`),
    ...ofRules(claimValidationRules, `${path}.claimValidationRules`, 'claimRule'),
    ...ofRules(userValidationRules, `${path}.userValidationRules`, 'userRule'),
    ...ofEmail(one, `${path}.claimMappings.username.expression`),
  ];
}

/** For a value of a kind: what is wrong with it, behind the path. */
const say = (path: string, why: string | undefined): string[] => (why === undefined ? [] : [`${path}: ${why}`]);
const notText = 'It has to be a text.';
const judge = (value: unknown, path: string, check: (text: string) => string | undefined): string[] =>
  say(path, typeof value === 'string' ? check(value) : notText);

function unknownKeys(given: ConfigDocument, known: string, path: string): string[] {
  const strange = Object.keys(given).filter((key) => !known.split(' ').includes(key));
  return strange.map((key) => `${path}.${key} is not one that may be set here. Leave it out.`);
}

function ofIssuer(issuer: unknown, path: string, ownIssuers: readonly unknown[]): string[] {
  if (!isRecord(issuer)) return [`${path} is missing.`];
  const { url, discoveryURL, certificateAuthority, audiences, audienceMatchPolicy } = issuer;
  const list = Array.isArray(audiences) ? audiences : [];
  const bare = (text: unknown): string => withoutTail(String(text), /\//);
  const isOwn = ownIssuers.includes(url);
  return [
    ...unknownKeys(issuer, keys.issuer, path),
    ...judge(url, `${path}.url`, whyNotIssuer),
    ...say(
      `${path}.url`,
      isOwn ? "It issues the tokens of the cluster's own ServiceAccounts. Name another." : undefined,
    ),
    ...(discoveryURL === undefined ? [] : judge(discoveryURL, `${path}.discoveryURL`, whyNotIssuer)),
    ...say(
      `${path}.discoveryURL`,
      bare(url) === bare(discoveryURL) ? 'It is the same as url. Leave it out.' : undefined,
    ),
    ...(certificateAuthority === undefined
      ? []
      : judge(certificateAuthority, `${path}.certificateAuthority`, whyNotCaBundle)),
    ...(list.length === 0 || new Set(list).size < list.length
      ? [`${path}.audiences must be a list of client IDs, each once.`]
      : list.flatMap((one, i) => judge(one, `${path}.audiences[${i}]`, whyNotClientId))),
    ...(audienceMatchPolicy === 'MatchAny' || (audienceMatchPolicy === undefined && list.length < 2)
      ? []
      : [`${path}.audienceMatchPolicy must be MatchAny.`]),
  ];
}

function ofMappings(mappings: unknown, one: ConfigDocument, path: string): string[] {
  if (!isRecord(mappings)) return [`${path} is missing.`];
  const { username, groups, uid, extra } = mappings;
  return [
    ...unknownKeys(mappings, keys.claimMappings, path),
    ...ofNames(username, one, path, 'username'),
    ...(groups === undefined ? [] : ofNames(groups, one, path, 'groups')),
    ...(uid === undefined ? [] : ofUid(uid, `${path}.uid`)),
    ...(extra === undefined ? [] : ofExtra(extra, `${path}.extra`)),
  ];
}

function ofNames(mapping: unknown, one: ConfigDocument, parent: string, whose: 'username' | 'groups'): string[] {
  const path = `${parent}.${whose}`;
  if (!isRecord(mapping)) return [`${path} is missing.`];
  const { claim, prefix, expression } = mapping;
  if (claim === undefined && expression === undefined && whose === 'groups' && prefix === undefined) return [];
  const problems = [...unknownKeys(mapping, keys.mapping, path), ...ofClaimOrExpression(mapping, path, whose)];
  if (problems.length > 0) return problems;
  const beginning = claim === undefined ? prefixOf(String(expression)) : String(prefix);
  if (!canNameSystem(beginning)) return [];
  const rules = recordsAt(one, 'userValidationRules');
  const isKept = !beginning.startsWith(systemPrefix) && rules.some((rule) => keepsSystemOut(rule['expression'], whose));
  return isKept ? [] : [`${path} can give names that begin with ${systemPrefix}: ${remedies[whose]}.`];
}

const remedies = {
  username: `use another prefix, or add !user.username.startsWith('${systemPrefix}') to userValidationRules`,
  groups: `use another prefix, or add user.groups.all(group, !group.startsWith('${systemPrefix}')) to userValidationRules`,
} as const;

function ofClaimOrExpression(mapping: ConfigDocument, path: string, whose: 'username' | 'groups'): string[] {
  const { claim, prefix, expression } = mapping;
  if ((claim === undefined) === (expression === undefined)) return [`${path} needs claim and prefix, or expression.`];
  if (claim !== undefined)
    return [...judge(claim, `${path}.claim`, whyNotClaim), ...judge(prefix, `${path}.prefix`, whyNotPrefix)];
  return [
    ...(prefix === undefined ? [] : [`${path}.prefix cannot stand beside expression. Leave it out.`]),
    ...say(`${path}.expression`, whyNotExpression(expression, whose === 'groups' ? 'texts' : 'text')),
  ];
}

function ofUid(uid: unknown, path: string): string[] {
  if (!isRecord(uid)) return [`${path} must have claim or expression.`];
  const { claim, expression } = uid;
  const strange = unknownKeys(uid, 'claim expression', path);
  if (expression === undefined) return [...strange, ...judge(claim, `${path}.claim`, whyNotClaim)];
  return [
    ...strange,
    ...(claim === undefined ? [] : [`${path}.claim cannot stand beside expression. Leave it out.`]),
    ...say(`${path}.expression`, whyNotExpression(expression, 'text')),
  ];
}

/** A domain of one's own, a slash, and a path, all in lower case. */
const extraKey = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?){1,8}\/[a-z0-9._-]{1,63}$/;
const ofKubernetes = /(^|\.)(k8s|kubernetes)\.io\//;

function ofExtra(extra: unknown, path: string): string[] {
  if (!Array.isArray(extra) || !extra.every(isRecord)) return [`${path} must be a list.`];
  const names = extra.map(({ key }) => key);
  return extra.flatMap((one, i) => [
    ...unknownKeys(one, keys.extra, `${path}[${i}]`),
    ...judge(one['key'], `${path}[${i}].key`, (key) =>
      extraKey.test(key) && !ofKubernetes.test(key) && names.indexOf(key) === i
        ? undefined
        : 'It has to be a name of your own like example.org/team in lower case, and there once.',
    ),
    ...say(`${path}[${i}].valueExpression`, whyNotExpression(one['valueExpression'], 'text')),
  ]);
}

function ofRules(rules: unknown, path: string, kind: Extract<ExpressionKind, 'claimRule' | 'userRule'>): string[] {
  if (rules === undefined || rules === null) return [];
  if (!Array.isArray(rules) || !rules.every(isRecord)) return [`${path} must be a list.`];
  const subjects = rules.map(({ claim, expression }) => JSON.stringify([claim, expression]));
  const doubled = subjects.findIndex((one, i) => subjects.indexOf(one) !== i);
  return [
    ...(doubled < 0 ? [] : [`${path}[${doubled}] is there twice. Keep one.`]),
    ...rules.flatMap((rule, i) => [
      ...unknownKeys(rule, keys[kind], `${path}[${i}]`),
      ...(rule['message'] === undefined ? [] : judge(rule['message'], `${path}[${i}].message`, () => undefined)),
      ...ofRule(rule, `${path}[${i}]`, kind),
    ]),
  ];
}

function ofRule(
  { claim, requiredValue, expression, message }: ConfigDocument,
  path: string,
  kind: 'claimRule' | 'userRule',
) {
  if (claim === undefined || kind === 'userRule') {
    const extra = requiredValue === undefined ? [] : [`${path}.requiredValue needs claim. Leave it out.`];
    return [...extra, ...say(`${path}.expression`, whyNotExpression(expression, kind))];
  }
  return [
    ...(expression === undefined && message === undefined
      ? []
      : [`${path}: expression and message cannot stand beside claim. Leave them out.`]),
    ...judge(claim, `${path}.claim`, whyNotClaim),
    ...(requiredValue === undefined ? [] : judge(requiredValue, `${path}.requiredValue`, () => undefined)),
  ];
}

/** A name that is made of an address by an expression needs to be of a verified one. */
function ofEmail(one: ConfigDocument, path: string): string[] {
  const mappings = isRecord(one['claimMappings']) ? one['claimMappings'] : {};
  const username = isRecord(mappings['username']) ? mappings['username']['expression'] : undefined;
  if (typeof username !== 'string' || !/claims\.email(?![A-Za-z0-9_])/.test(username)) return [];
  const others = [
    ...recordsAt(one, 'claimValidationRules').map(({ expression }) => expression),
    ...recordsAt(one, 'claimMappings.extra').map(({ valueExpression }) => valueExpression),
  ];
  const isVerified = others.some((text) => /claims\.email_verified(?![A-Za-z0-9_])/.test(String(text)));
  return isVerified ? [] : [`${path} uses claims.email: add claims.email_verified == true to claimValidationRules.`];
}
