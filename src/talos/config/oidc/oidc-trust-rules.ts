import { parse } from 'yaml';
import { type ConfigDocument, isRecord, recordsAt, valueAt } from '../config-document.ts';
import type { ConfigValidationContext } from '../validation/rule.ts';
import { findAuthenticatorProblems } from './authenticator-rules.ts';
import { findCaBundleProblem } from './ca-bundle.ts';
import {
  allowsSystemNames,
  findClaimProblem,
  findClientIdProblem,
  findIssuerProblem,
  findPrefixProblem,
  systemPrefix,
} from './oidc-grammar.ts';
import { signingAlgorithms } from './oidc-trust.ts';

const flagsPath = 'cluster.apiServer.extraArgs';

const checksByFlag: Readonly<Record<string, (text: string, main: ConfigDocument) => string | undefined>> = {
  'oidc-issuer-url': findIssuerProblem,
  'oidc-client-id': findClientIdProblem,
  'oidc-username-claim': findClaimProblem,
  'oidc-username-prefix': findPrefixProblem,
  'oidc-groups-claim': findClaimProblem,
  'oidc-groups-prefix': findPrefixProblem,
  'oidc-required-claim': findRequiredClaimProblem,
  'oidc-signing-algs': (text) =>
    text.split(',').every((one) => signingAlgorithms.split(',').includes(one))
      ? undefined
      : `Use some of ${signingAlgorithms}.`,
  'oidc-ca-file': (path, main) => {
    const text = findMountedFile(main, path);
    return text === undefined ? notMountedMessage : findCaBundleProblem(text);
  },
  'authentication-config': (path, main) => (findMountedFile(main, path) === undefined ? notMountedMessage : undefined),
};

const notMountedMessage =
  'the file is not in machine.files with a mount in cluster.apiServer.extraVolumes, and the API server does not start without it. Add it.';

function findRequiredClaimProblem(text: string): string | undefined {
  const at = text.indexOf('=');
  return at < 0 ? 'It must have the form claim=value. Correct it.' : findClaimProblem(text.slice(0, at));
}

/** The content of a file from the machine configuration, by its path in the API server's Pod. */
function findMountedFile(main: ConfigDocument, path: string): string | undefined {
  const volumes = recordsAt(main, 'cluster.apiServer.extraVolumes');
  const volume = volumes.find(({ mountPath }) => typeof mountPath === 'string' && path.startsWith(`${mountPath}/`));
  if (!volume) return undefined;
  const onNode = `${String(volume['hostPath'])}${path.slice(String(volume['mountPath']).length)}`;
  const content = recordsAt(main, 'machine.files').find((file) => file['path'] === onNode)?.['content'];
  return typeof content === 'string' ? content : undefined;
}

/**
 * Checks the OIDC trust that a patch sets by arguments, by a file or by a document, with the grammar that applies to
 * the issuers of AccessRequests.
 */
export function findOidcTrustProblems(
  documents: readonly ConfigDocument[],
  main: ConfigDocument,
  { role }: ConfigValidationContext,
): string[] {
  if (role !== 'controlplane') return [];
  const given = valueAt(main, flagsPath);
  const flags = Object.entries(isRecord(given) ? given : {}).filter(
    ([name, value]) => typeof value === 'string' && (name.startsWith('oidc-') || name === 'authentication-config'),
  );
  const texts = Object.fromEntries(flags.map(([name, value]) => [name, String(value)]));
  const config = documents.find(({ kind }) => kind === 'KubeAuthenticationConfig')?.['configuration'];
  const own = serviceAccountIssuers(documents, main);
  return [
    ...Object.entries(texts).flatMap(([name, text]) => checkFlag(name, text, main)),
    ...checkFlagsTogether(texts, own),
    ...checkAuthenticationConfigFile(texts['authentication-config'], main, own),
    ...(config === undefined ? [] : checkAuthenticationConfig(config, 'KubeAuthenticationConfig.configuration', own)),
  ];
}

function checkFlag(name: string, text: string, main: ConfigDocument): string[] {
  const check = Object.hasOwn(checksByFlag, name) ? checksByFlag[name] : undefined;
  const path = `${flagsPath}.${name}`;
  if (!check) return [`${path} is not an argument of kube-apiserver. Remove it.`];
  const why = text.includes('$') ? 'It must not contain $, which the kubelet expands. Remove it.' : check(text, main);
  return why === undefined ? [] : [`${path}: ${why}`];
}

/** Checks the combination of the arguments. */
function checkFlagsTogether(flags: Readonly<Record<string, string>>, own: readonly unknown[]): string[] {
  const names = Object.keys(flags).filter((name) => name.startsWith('oidc-'));
  if (names.length === 0) return [];
  const { 'oidc-issuer-url': issuer, 'oidc-client-id': client, 'authentication-config': file } = flags;
  const { 'oidc-username-prefix': user = '', 'oidc-username-claim': claim, 'oidc-groups-prefix': group = '' } = flags;
  // The default prefix is the issuer's URL, except for the claim `email`; a dash means no prefix.
  const username = user === '-' || (user === '' && claim === 'email') ? '' : user || `${issuer}#`;
  const open = [
    ...(allowsSystemNames(username) ? ['oidc-username-prefix'] : []),
    ...('oidc-groups-claim' in flags && allowsSystemNames(group) ? ['oidc-groups-prefix'] : []),
  ];
  return [
    ...(issuer && client
      ? []
      : [`${flagsPath}: oidc-issuer-url and oidc-client-id are required when one of ${names.join(', ')} is set.`]),
    ...(file === undefined
      ? []
      : [`${flagsPath}.authentication-config and oidc-* arguments exclude each other. Use one of them.`]),
    ...(own.includes(issuer)
      ? [`${flagsPath}.oidc-issuer-url: It is the ServiceAccount issuer of the cluster. Use another issuer.`]
      : []),
    ...open.map(
      (name) => `${flagsPath}.${name} must prevent names that begin with ${systemPrefix} by a prefix like "corp:".`,
    ),
  ];
}

function checkAuthenticationConfigFile(
  path: string | undefined,
  main: ConfigDocument,
  own: readonly unknown[],
): string[] {
  const text = path === undefined ? undefined : findMountedFile(main, path);
  if (text === undefined) return [];
  const where = `${flagsPath}.authentication-config`;
  const config = tryParseYaml(text);
  const isKnown =
    isRecord(config) &&
    config['kind'] === 'AuthenticationConfiguration' &&
    /^apiserver\.config\.k8s\.io\/v1(beta1)?$/.test(String(config['apiVersion']));
  if (!isKnown)
    return [`${where}: the file is not an AuthenticationConfiguration of apiserver.config.k8s.io/v1beta1. Correct it.`];
  const { apiVersion: _version, kind: _kind, ...rest } = config;
  return 'anonymous' in rest
    ? [`${where}: the file must not set anonymous, which Talos sets with an argument. Remove it.`]
    : checkAuthenticationConfig(rest, where, own);
}

function tryParseYaml(text: string): unknown {
  try {
    return parse(text);
  } catch {
    // The parser's message could quote the content.
    return undefined;
  }
}

function checkAuthenticationConfig(config: unknown, path: string, own: readonly unknown[]): string[] {
  if (!isRecord(config)) return [`${path} must be an object.`];
  const unknown = Object.keys(config).filter((key) => !['apiVersion', 'kind', 'anonymous', 'jwt'].includes(key));
  return [
    ...unknown.map((key) => `${path}.${key} is not supported here. Remove it.`),
    ...findAuthenticatorProblems(config['jwt'], `${path}.jwt`, own),
  ];
}

/**
 * The issuers of the cluster's own ServiceAccounts. kube-apiserver does not start when one of them is trusted again.
 */
function serviceAccountIssuers(documents: readonly ConfigDocument[], main: ConfigDocument): unknown[] {
  const account = documents.find(({ kind }) => kind === 'KubeServiceAccountConfig');
  const server = documents.find(({ kind }) => kind === 'KubeAPIServerConfig');
  return [
    valueAt(main, 'cluster.controlPlane.endpoint'),
    valueAt(main, `${flagsPath}.service-account-issuer`),
    valueAt(server, 'extraArgs.service-account-issuer'),
    valueAt(account, 'issuer.issuerURL'),
    valueAt(account, 'accepted.issuers'),
  ].flat();
}
