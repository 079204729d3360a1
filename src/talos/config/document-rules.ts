import { type ConfigDocument, identityOf, isMain, isRecord, valueAt } from './document.ts';
import { kinds } from './kinds.ts';
import { expectTexts, expectThat, type RuleContext } from './rule.ts';

/** The rules about documents beside the main one, and about what may not stand together. */
export function documentRules(
  documents: readonly ConfigDocument[],
  main: ConfigDocument,
  context: RuleContext,
): string[] {
  const others = documents.filter((document) => !isMain(document));
  return [
    ...duplicates(documents),
    ...others.flatMap((document) => conflicts(document, main, context)),
    ...others.flatMap((document) => expectTexts(document['extraArgs'], `${String(document['kind'])}.extraArgs`)),
    ...others.filter((document) => document['kind'] === 'HostnameConfig').flatMap(hostname),
    ...apiServer(others),
  ];
}

function duplicates(documents: readonly ConfigDocument[]): string[] {
  const identities = documents.map(identityOf);
  return [...new Set(identities.filter((one, i) => identities.indexOf(one) !== i))].map(
    (identity) => `${identity} is there more than once.`,
  );
}

function conflicts(document: ConfigDocument, main: ConfigDocument, { role }: RuleContext): string[] {
  const name = String(document['kind']);
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (!kind) return [];
  const both = (kind.conflicts ?? []).filter((path) => ![undefined, '', false].includes(valueAt(main, path) as never));
  return [
    ...expectThat(role === 'controlplane' || kind.controlPlaneOnly !== true, `${name} must not be on a worker.`),
    ...both.map(
      (path) => `${name} cannot stand beside ${path}: remove that with $patch: delete, or leave ${name} out.`,
    ),
  ];
}

function hostname(document: ConfigDocument): string[] {
  const name = document['hostname'];
  const auto = document['auto'];
  if (name === undefined || name === '') {
    return expectThat(auto === 'stable' || auto === 'off', 'HostnameConfig needs hostname or auto.');
  }
  const first = String(name).split('.')[0] ?? '';
  return [
    ...expectThat(auto !== 'stable', 'HostnameConfig: hostname and auto: stable exclude each other.'),
    ...expectThat(
      first.length > 0 && first.length <= 63 && String(name).length <= 253,
      'HostnameConfig.hostname is too long: 63 characters up to the first dot, 253 in all.',
    ),
  ];
}

/** What Talos 1.14 allows in documents of their own only (`config/types/k8s/apiserver.go`). */
const ownFlag = /^(oidc-|authentication-config$|anonymous-auth$|authorization-(config|mode)$|authorization-webhook-)/;
const placeOf = (flag: string): string =>
  flag.startsWith('authorization-') ? 'KubeAuthorizerConfig' : 'KubeAuthenticationConfig';

/**
 * The documents of Talos 1.14 bring no defaults: without an authentication document the API server never starts, and
 * without both authorizers nobody may do anything.
 */
function apiServer(others: readonly ConfigDocument[]): string[] {
  const has = (kind: string, type?: string) =>
    others.some((document) => document['kind'] === kind && (type === undefined || document['type'] === type));
  const document = others.find(({ kind }) => kind === 'KubeAPIServerConfig');
  if (!document) return [];
  const names = Object.keys(isRecord(document['extraArgs']) ? document['extraArgs'] : {});
  return [
    ...names
      .filter((name) => ownFlag.test(name))
      .map((name) => `KubeAPIServerConfig.extraArgs.${name} is for a document of its own: use ${placeOf(name)}.`),
    ...expectThat(has('KubeAuthenticationConfig'), 'KubeAPIServerConfig needs KubeAuthenticationConfig beside it.'),
    ...expectThat(
      has('KubeAuthorizerConfig', 'Node') && has('KubeAuthorizerConfig', 'RBAC'),
      'KubeAPIServerConfig needs KubeAuthorizerConfig of the types Node and RBAC beside it.',
    ),
  ];
}
