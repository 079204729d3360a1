import { type ConfigDocument, documentIdentity, isMainConfigDocument, isRecord, valueAt } from '../config-document.ts';
import { documentKinds } from '../schema/document-kinds.ts';
import { type ConfigValidationContext, problemsUnlessTexts, problemUnless } from './rule.ts';

/** The rules about documents beside the main one, and about conflicts between documents. */
export function findDocumentProblems(
  documents: readonly ConfigDocument[],
  main: ConfigDocument,
  context: ConfigValidationContext,
): string[] {
  const others = documents.filter((document) => !isMainConfigDocument(document));
  return [
    ...findDuplicates(documents),
    ...others.flatMap((document) => findConflicts(document, main, context)),
    ...others.flatMap((document) =>
      problemsUnlessTexts(document['extraArgs'], `${String(document['kind'])}.extraArgs`),
    ),
    ...others.filter((document) => document['kind'] === 'HostnameConfig').flatMap(checkHostname),
    ...checkApiServerDocuments(others),
  ];
}

function findDuplicates(documents: readonly ConfigDocument[]): string[] {
  const identities = documents.map(documentIdentity);
  return [...new Set(identities.filter((one, i) => identities.indexOf(one) !== i))].map(
    (identity) => `${identity} is not unique.`,
  );
}

function findConflicts(document: ConfigDocument, main: ConfigDocument, { role }: ConfigValidationContext): string[] {
  const name = String(document['kind']);
  const kind = Object.hasOwn(documentKinds, name) ? documentKinds[name] : undefined;
  if (!kind) return [];
  const both = (kind.conflicts ?? []).filter((path) => ![undefined, '', false].includes(valueAt(main, path) as never));
  return [
    ...problemUnless(role === 'controlplane' || kind.controlPlaneOnly !== true, `${name} must not be on a worker.`),
    ...both.map(
      (path) => `${name} and ${path} exclude each other: remove ${path} with $patch: delete, or remove ${name}.`,
    ),
  ];
}

function checkHostname(document: ConfigDocument): string[] {
  const name = document['hostname'];
  const auto = document['auto'];
  if (name === undefined || name === '') {
    return problemUnless(auto === 'stable' || auto === 'off', 'HostnameConfig needs hostname or auto.');
  }
  const first = String(name).split('.')[0] ?? '';
  return [
    ...problemUnless(auto !== 'stable', 'HostnameConfig: hostname and auto: stable exclude each other.'),
    ...problemUnless(
      first.length > 0 && first.length <= 63 && String(name).length <= 253,
      'HostnameConfig.hostname is too long: 63 characters up to the first dot, 253 in all.',
    ),
  ];
}

/** Flags that Talos 1.14 permits only as documents (`config/types/k8s/apiserver.go`). */
const documentOnlyFlag =
  /^(oidc-|authentication-config$|anonymous-auth$|authorization-(config|mode)$|authorization-webhook-)/;
const documentKindOfFlag = (flag: string): string =>
  flag.startsWith('authorization-') ? 'KubeAuthorizerConfig' : 'KubeAuthenticationConfig';

/**
 * The documents of Talos 1.14 have no defaults: without an authentication document the API server never starts, and
 * without both authorizers it denies every request.
 */
function checkApiServerDocuments(others: readonly ConfigDocument[]): string[] {
  const has = (kind: string, type?: string) =>
    others.some((document) => document['kind'] === kind && (type === undefined || document['type'] === type));
  const document = others.find(({ kind }) => kind === 'KubeAPIServerConfig');
  if (!document) return [];
  const names = Object.keys(isRecord(document['extraArgs']) ? document['extraArgs'] : {});
  return [
    ...names
      .filter((name) => documentOnlyFlag.test(name))
      .map((name) => `KubeAPIServerConfig.extraArgs.${name} has its own document: use ${documentKindOfFlag(name)}.`),
    ...problemUnless(has('KubeAuthenticationConfig'), 'KubeAPIServerConfig needs KubeAuthenticationConfig beside it.'),
    ...problemUnless(
      has('KubeAuthorizerConfig', 'Node') && has('KubeAuthorizerConfig', 'RBAC'),
      'KubeAPIServerConfig needs KubeAuthorizerConfig of the types Node and RBAC beside it.',
    ),
  ];
}
