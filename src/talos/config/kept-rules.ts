import { isDeepStrictEqual } from 'node:util';
import { type ConfigDocument, isMain, isRecord, recordsAt, valueAt } from './document.ts';
import { expectThat, type RuleContext } from './rule.ts';

/** A value that no patch may change or take away. */
interface Kept {
  readonly path: string;
  /** What to do instead, as the end of a sentence. */
  readonly instead: string;
  /** A kind of document that may say it in its place, and how it is called there. */
  readonly or?: { readonly kind: string; readonly path: string };
}

const secret = 'it is one of the secrets of the cluster, which the provider makes. Leave it out of the patch';
const disk = 'what is erased is not for patches to say. Leave it out of the patch';

const ofNetwork = (key: string): Kept => ({
  path: `cluster.network.${key}`,
  instead: `use network.${key}`,
  or: { kind: 'KubeNetworkConfig', path: key },
});
const ofSecrets = (path: string): Kept => ({ path, instead: secret });

const kept: readonly Kept[] = [
  ...['machine.token', 'machine.ca.crt', 'machine.ca.key'].map(ofSecrets),
  ...['cluster.id', 'cluster.secret', 'cluster.token', 'cluster.ca.crt', 'cluster.ca.key'].map(ofSecrets),
  ...['cluster.aggregatorCA.crt', 'cluster.aggregatorCA.key', 'cluster.serviceAccount.key'].map(ofSecrets),
  ...['cluster.etcd.ca.crt', 'cluster.etcd.ca.key'].map(ofSecrets),
  ...['cluster.secretboxEncryptionSecret', 'cluster.aescbcEncryptionSecret'].map(
    (path): Kept => ({ ...ofSecrets(path), or: { kind: 'KubeEtcdEncryptionConfig', path: '' } }),
  ),
  ...['podSubnets', 'serviceSubnets', 'dnsDomain'].map(ofNetwork),
  { path: 'cluster.controlPlane.endpoint', instead: 'use controlPlane.endpoint' },
  { path: 'machine.kubelet.extraArgs.provider-id', instead: 'the provider finds its nodes by it' },
  ...['machine.install.disk', 'machine.install.diskSelector', 'machine.install.wipe'].map(
    (path): Kept => ({ path, instead: disk }),
  ),
];

/**
 * What patches may not do to a configuration as we made it: take from a node what the provider reaches it by, or say
 * in another place what a field of the ProviderConfig says.
 */
export function keptRules(documents: readonly ConfigDocument[], main: ConfigDocument, context: RuleContext): string[] {
  const made = context.made?.find(isMain);
  if (!context.made || !made) return [];
  const changed = kept.filter(({ path, or }) => {
    const other = or && documents.find((document) => document['kind'] === or.kind);
    const now = other ? (or.path === '' ? valueAt(made, path) : valueAt(other, or.path)) : valueAt(main, path);
    return !isDeepStrictEqual(now, valueAt(made, path));
  });
  return [
    ...changed.map(({ path, instead }) => `${path} has to stay as it is: ${instead}.`),
    ...hostname(documents, context.made),
    ...ownLinks(main, made),
    ...localPort(documents, main, made),
    ...authentication(documents, context.made),
    ...trustArguments(main, made),
    ...firewall(documents, context),
  ];
}

function hostname(documents: readonly ConfigDocument[], made: readonly ConfigDocument[]): string[] {
  const nameIn = (all: readonly ConfigDocument[]) =>
    all.find((document) => document['kind'] === 'HostnameConfig')?.['hostname'];
  return expectThat(
    nameIn(documents) === nameIn(made),
    'HostnameConfig.hostname has to stay as it is: every node has a name of its own.',
  );
}

const linksOf = (main: ConfigDocument) => recordsAt(main, 'machine.network.interfaces');
const macOf = (link: ConfigDocument) => valueAt(link, 'deviceSelector.hardwareAddr');

/** Cards are told apart by their MAC, which no patch can know: what is missing was taken away with others. */
function ownLinks(main: ConfigDocument, made: ConfigDocument): string[] {
  const whole = (own: ConfigDocument): boolean =>
    linksOf(main).some(
      (link) =>
        macOf(link) === macOf(own) &&
        link['interface'] === own['interface'] &&
        link['ignore'] !== true &&
        keeps(link, own) &&
        vlansOf(own).every((vlan) =>
          vlansOf(link).some((other) => other['vlanId'] === vlan['vlanId'] && keeps(other, vlan)),
        ),
    );
  const [first] = linksOf(made);
  const asks = (link: ConfigDocument): boolean => macOf(link) !== macOf(first ?? {}) || link['dhcp'] === true;
  return [
    ...expectThat(
      linksOf(made).every(whole),
      'machine.network.interfaces has to keep the card, the addresses and the routes of the node: the provider reaches it there.',
    ),
    ...expectThat(
      first?.['dhcp'] !== true || linksOf(main).every(asks),
      'machine.network.interfaces has to keep dhcp of the first card: by network.addressAssignment the node gets its address there.',
    ),
  ];
}

const vlansOf = (link: ConfigDocument) => recordsAt(link, 'vlans');

const keeps = (link: ConfigDocument, own: ConfigDocument): boolean =>
  isDeepStrictEqual(link['vip'], own['vip']) &&
  holdsAll(link['addresses'], own['addresses']) &&
  holdsAll(link['routes'], own['routes']);

const holdsAll = (list: unknown, wanted: unknown): boolean =>
  !Array.isArray(wanted) ||
  (Array.isArray(list) && wanted.every((one) => list.some((other) => isDeepStrictEqual(one, other))));

/** A virtual address leads to the port that the API server listens on. */
function localPort(documents: readonly ConfigDocument[], main: ConfigDocument, made: ConfigDocument): string[] {
  const own = documents.find(({ kind }) => kind === 'KubeAPIServerConfig');
  const port = own ? own['apiPort'] : valueAt(main, 'cluster.controlPlane.localAPIServerPort');
  const path = own ? 'KubeAPIServerConfig.apiPort' : 'cluster.controlPlane.localAPIServerPort';
  const virtual = linksOf(made).some((link) => [link, ...vlansOf(link)].some(({ vip }) => isRecord(vip)));
  return expectThat(
    (port ?? 6443) === 6443 || !virtual,
    `${path} has to be 6443: the virtual address of the control planes leads there.`,
  );
}

const authenticationIn = (documents: readonly ConfigDocument[]): ConfigDocument | undefined =>
  documents.find(({ kind }) => kind === 'KubeAuthenticationConfig');

/**
 * A patch replaces the whole of it. Without these paths the probes of the kubelet, which has no name there, fail and the API
 * server is restarted for ever; without these issuers people are locked out whom AccessRequests let in.
 */
function authentication(documents: readonly ConfigDocument[], made: readonly ConfigDocument[]): string[] {
  const [present, own] = [authenticationIn(documents), authenticationIn(made)];
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
    ...expectThat(
      isProbed,
      `KubeAuthenticationConfig.configuration.anonymous has to be enabled for ${probed.join(', ')}: the kubelet asks there whether the API server lives.`,
    ),
    ...expectThat(
      lost.length === 0,
      `KubeAuthenticationConfig.configuration.jwt has to keep ${lost.map((one) => valueAt(one, 'issuer.url')).join(', ')}: AccessRequests ask for it.`,
    ),
  ];
}

/** Half of one trust and half of another would be neither. */
function trustArguments(main: ConfigDocument, made: ConfigDocument): string[] {
  const [now, own] = [main, made].map((one) =>
    Object.entries(valueAt(one, 'cluster.apiServer.extraArgs') ?? {}).filter(([name]) => name.startsWith('oidc-')),
  );
  return expectThat(
    own?.length === 0 || isDeepStrictEqual(Object.fromEntries(now ?? []), Object.fromEntries(own ?? [])),
    'cluster.apiServer.extraArgs has to keep its oidc-* arguments: an AccessRequest asks for them. Leave them out of the patch.',
  );
}

/** Ports that the provider itself calls. */
const needed = { controlplane: [50_000, 6443], worker: [50_000] } as const;

function firewall(documents: readonly ConfigDocument[], { role }: RuleContext): string[] {
  const blocks = documents.some(({ kind, ingress }) => kind === 'NetworkDefaultActionConfig' && ingress === 'block');
  if (!blocks) return [];
  const open = documents
    .filter(({ kind }) => kind === 'NetworkRuleConfig')
    .filter((rule) => valueAt(rule, 'portSelector.protocol') === 'tcp')
    .flatMap((rule) => valueAt(rule, 'portSelector.ports') ?? []);
  return needed[role].flatMap((port) =>
    expectThat(
      open.some((range) => isWithin(port, String(range))),
      `NetworkDefaultActionConfig blocks TCP port ${port}, at which the provider calls the node: open it with a NetworkRuleConfig.`,
    ),
  );
}

/** `6443` or `50000-50001`. */
function isWithin(port: number, range: string): boolean {
  const [first, last = first] = range.split('-').map(Number);
  return first !== undefined && last !== undefined && port >= first && port <= last;
}
