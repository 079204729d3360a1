import { trimTrailing } from '../../../lib/text.ts';
import { type ConfigDocument, isRecord, recordsAt } from '../config-document.ts';
import { findCaBundleProblem } from './ca-bundle.ts';
import {
  type ExpressionKind,
  excludesSystemNames,
  expressionPrefix,
  findExpressionProblem,
} from './cel-expressions.ts';
import {
  allowsSystemNames,
  findClaimProblem,
  findClientIdProblem,
  findIssuerProblem,
  findPrefixProblem,
  systemPrefix,
} from './oidc-grammar.ts';

/** Limit of kube-apiserver. */
const maxAuthenticators = 64;

/** The keys of an authenticator and of its parts. kube-apiserver decodes them strictly. */
const allowedKeys = {
  top: 'issuer claimValidationRules claimMappings userValidationRules',
  issuer: 'url discoveryURL certificateAuthority audiences audienceMatchPolicy',
  claimMappings: 'username groups uid extra',
  mapping: 'claim prefix expression',
  claimRule: 'claim requiredValue expression message',
  userRule: 'expression message',
  extra: 'key valueExpression',
} as const;

/**
 * Finds problems in the `jwt` list of an AuthenticationConfiguration that keep kube-apiserver from starting, or that
 * let an issuer use names of Kubernetes itself. Each problem is a sentence that begins with the path.
 */
export function findAuthenticatorProblems(jwt: unknown, path: string, ownIssuers: readonly unknown[]): string[] {
  if (jwt === undefined || jwt === null) return [];
  if (!Array.isArray(jwt) || !jwt.every(isRecord)) return [`${path} must be a list of authenticators.`];
  if (jwt.length > maxAuthenticators) return [`${path} must not hold more than ${maxAuthenticators} authenticators.`];
  const urls = jwt.flatMap(({ issuer }) => (isRecord(issuer) ? [issuer['url'], issuer['discoveryURL']] : []));
  const named = urls.filter((url) => url !== undefined && url !== '');
  const doubled = named.find((url, i) => named.indexOf(url) !== i);
  return [
    ...(doubled === undefined ? [] : [`${path}: ${String(doubled)} is not unique. Keep one.`]),
    ...jwt.flatMap((one, i) => checkAuthenticator(one, `${path}[${i}]`, ownIssuers)),
  ];
}

function checkAuthenticator(one: ConfigDocument, path: string, ownIssuers: readonly unknown[]): string[] {
  const { issuer, claimMappings, claimValidationRules, userValidationRules } = one;
  return [
    ...findUnknownKeys(one, allowedKeys.top, path),
    ...checkIssuer(issuer, `${path}.issuer`, ownIssuers),
    ...checkClaimMappings(claimMappings, one, `${path}.claimMappings`),
    ...checkRules(claimValidationRules, `${path}.claimValidationRules`, 'claimRule'),
    ...checkRules(userValidationRules, `${path}.userValidationRules`, 'userRule'),
    ...checkVerifiedEmail(one, `${path}.claimMappings.username.expression`),
  ];
}

/** Adds the path to the problem of a value. */
const problemAt = (path: string, why: string | undefined): string[] => (why === undefined ? [] : [`${path}: ${why}`]);
const notTextMessage = 'It must be a string.';
const checkText = (value: unknown, path: string, check: (text: string) => string | undefined): string[] =>
  problemAt(path, typeof value === 'string' ? check(value) : notTextMessage);

function findUnknownKeys(given: ConfigDocument, known: string, path: string): string[] {
  const unknown = Object.keys(given).filter((key) => !known.split(' ').includes(key));
  return unknown.map((key) => `${path}.${key} is not supported here. Remove it.`);
}

function checkIssuer(issuer: unknown, path: string, ownIssuers: readonly unknown[]): string[] {
  if (!isRecord(issuer)) return [`${path} is missing.`];
  const { url, discoveryURL, certificateAuthority, audiences, audienceMatchPolicy } = issuer;
  const list = Array.isArray(audiences) ? audiences : [];
  const bare = (text: unknown): string => trimTrailing(String(text), /\//);
  const isOwn = ownIssuers.includes(url);
  return [
    ...findUnknownKeys(issuer, allowedKeys.issuer, path),
    ...checkText(url, `${path}.url`, findIssuerProblem),
    ...problemAt(
      `${path}.url`,
      isOwn ? 'It is the ServiceAccount issuer of the cluster. Use another issuer.' : undefined,
    ),
    ...(discoveryURL === undefined ? [] : checkText(discoveryURL, `${path}.discoveryURL`, findIssuerProblem)),
    ...problemAt(
      `${path}.discoveryURL`,
      bare(url) === bare(discoveryURL) ? 'It is equal to url. Remove it.' : undefined,
    ),
    ...(certificateAuthority === undefined
      ? []
      : checkText(certificateAuthority, `${path}.certificateAuthority`, findCaBundleProblem)),
    ...(list.length === 0 || new Set(list).size < list.length
      ? [`${path}.audiences must be a list of client IDs, each once.`]
      : list.flatMap((one, i) => checkText(one, `${path}.audiences[${i}]`, findClientIdProblem))),
    ...(audienceMatchPolicy === 'MatchAny' || (audienceMatchPolicy === undefined && list.length < 2)
      ? []
      : [`${path}.audienceMatchPolicy must be MatchAny.`]),
  ];
}

function checkClaimMappings(mappings: unknown, one: ConfigDocument, path: string): string[] {
  if (!isRecord(mappings)) return [`${path} is missing.`];
  const { username, groups, uid, extra } = mappings;
  return [
    ...findUnknownKeys(mappings, allowedKeys.claimMappings, path),
    ...checkNameMapping(username, one, path, 'username'),
    ...(groups === undefined ? [] : checkNameMapping(groups, one, path, 'groups')),
    ...(uid === undefined ? [] : checkUid(uid, `${path}.uid`)),
    ...(extra === undefined ? [] : checkExtra(extra, `${path}.extra`)),
  ];
}

function checkNameMapping(
  mapping: unknown,
  one: ConfigDocument,
  parent: string,
  whose: 'username' | 'groups',
): string[] {
  const path = `${parent}.${whose}`;
  if (!isRecord(mapping)) return [`${path} is missing.`];
  const { claim, prefix, expression } = mapping;
  if (claim === undefined && expression === undefined && whose === 'groups' && prefix === undefined) return [];
  const problems = [
    ...findUnknownKeys(mapping, allowedKeys.mapping, path),
    ...checkClaimOrExpression(mapping, path, whose),
  ];
  if (problems.length > 0) return problems;
  const beginning = claim === undefined ? expressionPrefix(String(expression)) : String(prefix);
  if (!allowsSystemNames(beginning)) return [];
  const rules = recordsAt(one, 'userValidationRules');
  const isKept =
    !beginning.startsWith(systemPrefix) && rules.some((rule) => excludesSystemNames(rule['expression'], whose));
  return isKept ? [] : [`${path} can give names that begin with ${systemPrefix}: ${systemPrefixRemedies[whose]}.`];
}

const systemPrefixRemedies = {
  username: `use another prefix, or add !user.username.startsWith('${systemPrefix}') to userValidationRules`,
  groups: `use another prefix, or add user.groups.all(group, !group.startsWith('${systemPrefix}')) to userValidationRules`,
} as const;

function checkClaimOrExpression(mapping: ConfigDocument, path: string, whose: 'username' | 'groups'): string[] {
  const { claim, prefix, expression } = mapping;
  if ((claim === undefined) === (expression === undefined)) return [`${path} needs claim and prefix, or expression.`];
  if (claim !== undefined)
    return [
      ...checkText(claim, `${path}.claim`, findClaimProblem),
      ...checkText(prefix, `${path}.prefix`, findPrefixProblem),
    ];
  return [
    ...(prefix === undefined ? [] : [`${path}.prefix and expression exclude each other. Remove it.`]),
    ...problemAt(`${path}.expression`, findExpressionProblem(expression, whose === 'groups' ? 'texts' : 'text')),
  ];
}

function checkUid(uid: unknown, path: string): string[] {
  if (!isRecord(uid)) return [`${path} must have claim or expression.`];
  const { claim, expression } = uid;
  const unknown = findUnknownKeys(uid, 'claim expression', path);
  if (expression === undefined) return [...unknown, ...checkText(claim, `${path}.claim`, findClaimProblem)];
  return [
    ...unknown,
    ...(claim === undefined ? [] : [`${path}.claim and expression exclude each other. Remove it.`]),
    ...problemAt(`${path}.expression`, findExpressionProblem(expression, 'text')),
  ];
}

/** A subdomain, a slash, and a path, all in lower case. */
const extraKeyPattern =
  /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?){1,8}\/[a-z0-9._-]{1,63}$/;
const kubernetesDomain = /(^|\.)(k8s|kubernetes)\.io\//;

function checkExtra(extra: unknown, path: string): string[] {
  if (!Array.isArray(extra) || !extra.every(isRecord)) return [`${path} must be a list.`];
  const names = extra.map(({ key }) => key);
  return extra.flatMap((one, i) => [
    ...findUnknownKeys(one, allowedKeys.extra, `${path}[${i}]`),
    ...checkText(one['key'], `${path}[${i}].key`, (key) =>
      extraKeyPattern.test(key) && !kubernetesDomain.test(key) && names.indexOf(key) === i
        ? undefined
        : 'It must be a unique lower-case name with your own domain, like example.org/team.',
    ),
    ...problemAt(`${path}[${i}].valueExpression`, findExpressionProblem(one['valueExpression'], 'text')),
  ]);
}

function checkRules(rules: unknown, path: string, kind: Extract<ExpressionKind, 'claimRule' | 'userRule'>): string[] {
  if (rules === undefined || rules === null) return [];
  if (!Array.isArray(rules) || !rules.every(isRecord)) return [`${path} must be a list.`];
  const subjects = rules.map(({ claim, expression }) => JSON.stringify([claim, expression]));
  const doubled = subjects.findIndex((one, i) => subjects.indexOf(one) !== i);
  return [
    ...(doubled < 0 ? [] : [`${path}[${doubled}] is not unique. Keep one.`]),
    ...rules.flatMap((rule, i) => [
      ...findUnknownKeys(rule, allowedKeys[kind], `${path}[${i}]`),
      ...(rule['message'] === undefined ? [] : checkText(rule['message'], `${path}[${i}].message`, () => undefined)),
      ...checkRule(rule, `${path}[${i}]`, kind),
    ]),
  ];
}

function checkRule(
  { claim, requiredValue, expression, message }: ConfigDocument,
  path: string,
  kind: 'claimRule' | 'userRule',
) {
  if (claim === undefined || kind === 'userRule') {
    const extra = requiredValue === undefined ? [] : [`${path}.requiredValue needs claim. Remove it.`];
    return [...extra, ...problemAt(`${path}.expression`, findExpressionProblem(expression, kind))];
  }
  return [
    ...(expression === undefined && message === undefined
      ? []
      : [`${path}: claim excludes expression and message. Remove them.`]),
    ...checkText(claim, `${path}.claim`, findClaimProblem),
    ...(requiredValue === undefined ? [] : checkText(requiredValue, `${path}.requiredValue`, () => undefined)),
  ];
}

/** A username expression over `claims.email` requires `claims.email_verified`. */
function checkVerifiedEmail(one: ConfigDocument, path: string): string[] {
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
