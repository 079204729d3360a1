import { isDeepStrictEqual } from 'node:util';
import { type ConfigDocument, isMainConfigDocument, isRecord, recordsAt, valueAt } from '../config-document.ts';
import { type ConfigValidationContext, problemUnless } from './rule.ts';

/** A value that no patch may change or remove. */
interface ProtectedField {
  readonly path: string;
  /** The alternative, as the end of a sentence. */
  readonly instead: string;
  /** A kind of document that can replace the field, and the path there. */
  readonly or?: { readonly kind: string; readonly path: string };
}

const secretInstead = 'it is one of the secrets of the cluster, which the provider generates. Remove it from the patch';
const diskInstead = 'patches cannot control erasure. Remove it from the patch';

const protectedNetworkField = (key: string): ProtectedField => ({
  path: `cluster.network.${key}`,
  instead: `use network.${key}`,
  or: { kind: 'KubeNetworkConfig', path: key },
});
const protectedSecretField = (path: string): ProtectedField => ({ path, instead: secretInstead });

const protectedFields: readonly ProtectedField[] = [
  ...['machine.token', 'machine.ca.crt', 'machine.ca.key'].map(protectedSecretField),
  ...['cluster.id', 'cluster.secret', 'cluster.token', 'cluster.ca.crt', 'cluster.ca.key'].map(protectedSecretField),
  ...['cluster.aggregatorCA.crt', 'cluster.aggregatorCA.key', 'cluster.serviceAccount.key'].map(protectedSecretField),
  ...['cluster.etcd.ca.crt', 'cluster.etcd.ca.key'].map(protectedSecretField),
  ...['cluster.secretboxEncryptionSecret', 'cluster.aescbcEncryptionSecret'].map(
    (path): ProtectedField => ({ ...protectedSecretField(path), or: { kind: 'KubeEtcdEncryptionConfig', path: '' } }),
  ),
  ...['podSubnets', 'serviceSubnets', 'dnsDomain'].map(protectedNetworkField),
  { path: 'cluster.controlPlane.endpoint', instead: 'use controlPlane.endpoint' },
  { path: 'machine.kubelet.extraArgs.provider-id', instead: 'the provider identifies its nodes by it' },
  ...['machine.install.disk', 'machine.install.diskSelector', 'machine.install.wipe'].map(
    (path): ProtectedField => ({ path, instead: diskInstead }),
  ),
];

/**
 * Finds changes of patches that are not permitted: removal of values by which the provider reaches a node, and values
 * for which the ProviderConfig has a field.
 */
export function findProtectedFieldProblems(
  documents: readonly ConfigDocument[],
  main: ConfigDocument,
  context: ConfigValidationContext,
): string[] {
  const made = context.made?.find(isMainConfigDocument);
  if (!context.made || !made) return [];
  const changed = protectedFields.filter(({ path, or }) => {
    const other = or && documents.find((document) => document['kind'] === or.kind);
    const now = other ? (or.path === '' ? valueAt(made, path) : valueAt(other, or.path)) : valueAt(main, path);
    return !isDeepStrictEqual(now, valueAt(made, path));
  });
  return [
    ...changed.map(({ path, instead }) => `${path} must not be changed: ${instead}.`),
    ...checkHostname(documents, context.made),
    ...checkNodeInterfaces(main, made),
    ...checkApiServerPort(documents, main, made),
    ...checkAuthentication(documents, context.made),
    ...checkOidcArguments(main, made),
    ...checkFirewall(documents, context),
  ];
}

function checkHostname(documents: readonly ConfigDocument[], made: readonly ConfigDocument[]): string[] {
  const nameIn = (all: readonly ConfigDocument[]) =>
    all.find((document) => document['kind'] === 'HostnameConfig')?.['hostname'];
  return problemUnless(
    nameIn(documents) === nameIn(made),
    'HostnameConfig.hostname must not be changed: every node has its own name.',
  );
}

const interfacesOf = (main: ConfigDocument) => recordsAt(main, 'machine.network.interfaces');
const macOf = (link: ConfigDocument) => valueAt(link, 'deviceSelector.hardwareAddr');

/** Interfaces are identified by their MAC, which no patch can know: a missing one was removed with others. */
function checkNodeInterfaces(main: ConfigDocument, made: ConfigDocument): string[] {
  const whole = (own: ConfigDocument): boolean =>
    interfacesOf(main).some(
      (link) =>
        macOf(link) === macOf(own) &&
        link['interface'] === own['interface'] &&
        link['ignore'] !== true &&
        retainsAddresses(link, own) &&
        vlansOf(own).every((vlan) =>
          vlansOf(link).some((other) => other['vlanId'] === vlan['vlanId'] && retainsAddresses(other, vlan)),
        ),
    );
  const [first] = interfacesOf(made);
  const asks = (link: ConfigDocument): boolean => macOf(link) !== macOf(first ?? {}) || link['dhcp'] === true;
  return [
    ...problemUnless(
      interfacesOf(made).every(whole),
      'machine.network.interfaces must keep the network card, the addresses and the routes of the node, which the provider connects to.',
    ),
    ...problemUnless(
      first?.['dhcp'] !== true || interfacesOf(main).every(asks),
      'machine.network.interfaces must keep dhcp of the first network card, which network.addressAssignment requires.',
    ),
  ];
}

const vlansOf = (link: ConfigDocument) => recordsAt(link, 'vlans');

const retainsAddresses = (link: ConfigDocument, own: ConfigDocument): boolean =>
  isDeepStrictEqual(link['vip'], own['vip']) &&
  includesAll(link['addresses'], own['addresses']) &&
  includesAll(link['routes'], own['routes']);

const includesAll = (list: unknown, wanted: unknown): boolean =>
  !Array.isArray(wanted) ||
  (Array.isArray(list) && wanted.every((one) => list.some((other) => isDeepStrictEqual(one, other))));

/** A virtual address leads directly to the port of the API server, so that port must not change. */
function checkApiServerPort(
  documents: readonly ConfigDocument[],
  main: ConfigDocument,
  made: ConfigDocument,
): string[] {
  const own = documents.find(({ kind }) => kind === 'KubeAPIServerConfig');
  const port = own ? own['apiPort'] : valueAt(main, 'cluster.controlPlane.localAPIServerPort');
  const path = own ? 'KubeAPIServerConfig.apiPort' : 'cluster.controlPlane.localAPIServerPort';
  const virtual = interfacesOf(made).some((link) => [link, ...vlansOf(link)].some(({ vip }) => isRecord(vip)));
  return problemUnless(
    (port ?? 6443) === 6443 || !virtual,
    `${path} must be 6443, the port of the virtual address of the control planes.`,
  );
}

const findAuthenticationDocument = (documents: readonly ConfigDocument[]): ConfigDocument | undefined =>
  documents.find(({ kind }) => kind === 'KubeAuthenticationConfig');

/**
 * A patch replaces the whole document. Without these paths the anonymous health probes of the kubelet fail and the API
 * server restarts forever. Without these issuers the users of AccessRequests lose access.
 */
function checkAuthentication(documents: readonly ConfigDocument[], made: readonly ConfigDocument[]): string[] {
  const [present, own] = [findAuthenticationDocument(documents), findAuthenticationDocument(made)];
  if (!present || !own) return [];
  const conditions = valueAt(present, 'configuration.anonymous.conditions');
  const allowed = recordsAt(present, 'configuration.anonymous.conditions').map(({ path }) => path);
  const isOpen = !Array.isArray(conditions) || conditions.length === 0;
  const probed = recordsAt(own, 'configuration.anonymous.conditions').map(({ path }) => path);
  const isProbed =
    valueAt(present, 'configuration.anonymous.enabled') === true &&
    (isOpen || probed.every((path) => allowed.includes(path)));
  const kept = recordsAt(present, 'configuration.jwt');
  const lost = recordsAt(own, 'configuration.jwt').filter(
    (one) => !kept.some((other) => isDeepStrictEqual(one, other)),
  );
  return [
    ...problemUnless(
      isProbed,
      `KubeAuthenticationConfig.configuration.anonymous must be enabled for ${probed.join(', ')}, which the kubelet uses for the probes of the API server.`,
    ),
    ...problemUnless(
      lost.length === 0,
      `KubeAuthenticationConfig.configuration.jwt must keep ${lost.map((one) => valueAt(one, 'issuer.url')).join(', ')}, which AccessRequests use.`,
    ),
  ];
}

/** A mixture of two trusts would be neither of them. */
function checkOidcArguments(main: ConfigDocument, made: ConfigDocument): string[] {
  const [now, own] = [main, made].map((one) =>
    Object.entries(valueAt(one, 'cluster.apiServer.extraArgs') ?? {}).filter(([name]) => name.startsWith('oidc-')),
  );
  return problemUnless(
    own?.length === 0 || isDeepStrictEqual(Object.fromEntries(now ?? []), Object.fromEntries(own ?? [])),
    'cluster.apiServer.extraArgs must keep its oidc-* arguments, which an AccessRequest uses. Remove them from the patch.',
  );
}

/** Ports that the provider itself calls. */
const requiredPorts = { controlplane: [50_000, 6443], worker: [50_000] } as const;

function checkFirewall(documents: readonly ConfigDocument[], { role }: ConfigValidationContext): string[] {
  const blocks = documents.some(({ kind, ingress }) => kind === 'NetworkDefaultActionConfig' && ingress === 'block');
  if (!blocks) return [];
  const open = documents
    .filter(({ kind }) => kind === 'NetworkRuleConfig')
    .filter((rule) => valueAt(rule, 'portSelector.protocol') === 'tcp')
    .flatMap((rule) => valueAt(rule, 'portSelector.ports') ?? []);
  return requiredPorts[role].flatMap((port) =>
    problemUnless(
      open.some((range) => isInPortRange(port, String(range))),
      `NetworkDefaultActionConfig blocks TCP port ${port}, which the provider uses: open it with a NetworkRuleConfig.`,
    ),
  );
}

/** `6443` or `50000-50001`. */
function isInPortRange(port: number, range: string): boolean {
  const [first, last = first] = range.split('-').map(Number);
  return first !== undefined && last !== undefined && port >= first && port <= last;
}
