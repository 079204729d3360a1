import { describe, expect, it } from 'vitest';
import { aSpec } from '../../../../test/support/fixtures/builders.ts';
import type { Addressing } from '../../../engine/addressing.ts';
import { validateSpec } from './validate-spec.ts';

type Raw = Record<string, Record<string, unknown>>;
const addressing: Addressing = { pool: 'main', endpoint: 'virtual-address' };
const corrupted = (change: (raw: Raw) => void) =>
  validateSpec(
    aSpec((raw) => change(raw as Raw)),
    { sizes: ['small'], hosts: [{ field: 'truenas.url', host: '192.168.10.240' }], addressing },
  );
const network = (values: object) => (raw: Raw) => Object.assign(raw['network']!, values);
const ipv6 = { subnet: '2001:db8:3::/64' };
const endpoint = (text: string) => (raw: Raw) => Object.assign(raw['controlPlane']!, { endpoint: text });
const talos = (values: object) => (raw: Raw) => Object.assign(raw['talos']!, values);
const kubernetes = (values: object) => (raw: Raw) => Object.assign(raw['kubernetes']!, values);
const worker = (values: object) => (raw: Raw) =>
  Object.assign(raw, { workerPools: [{ name: 'work', replicas: 1, size: 'small', ...values }] });

describe('problems of a ProviderConfig', () => {
  it('are none for a valid one', () => {
    expect(corrupted(() => {})).toEqual([]);
  });

  it.each([
    ['a Talos version that is too old', (raw: Raw) => (raw['talos']!['version'] = '1.9.4'), 'talos.version', /1\.12/],
    ['a Talos version that is too new', (raw: Raw) => (raw['talos']!['version'] = '1.15.0'), 'talos.version', /1\.14/],
    [
      'a Kubernetes version that this Talos cannot run',
      (raw: Raw) => (raw['kubernetes']!['versions'] = [{ version: '1.29.1' }]),
      'kubernetes.versions[0].version',
      /1\.31/,
    ],
    [
      'an offer of deprecated versions only',
      (raw: Raw) => (raw['kubernetes']!['versions'] = [{ version: '1.35.4', deprecated: true }]),
      'kubernetes.versions',
      /at least one/,
    ],
    [
      'an even number of control planes',
      (raw: Raw) => (raw['controlPlane']!['replicas'] = 4),
      'controlPlane.replicas',
      /1, 3 or 5/,
    ],
    ['a size that does not exist', (raw: Raw) => (raw['controlPlane']!['size'] = 'huge'), 'controlPlane.size', /small/],
    [
      'a pool that is too small for one cluster',
      (raw: Raw) => (raw['network']!['addressPool'] = ['192.168.10.20-192.168.10.22']),
      'network.addressPool',
      /3 addresses.*needs 4/,
    ],
    [
      'a pool outside of the subnet',
      (raw: Raw) => (raw['network']!['addressPool'] = ['192.168.11.20-192.168.11.40']),
      'network.addressPool[0]',
      /192\.168\.10\.0 to 192\.168\.10\.255/,
    ],
    [
      'a pool that holds the gateway',
      (raw: Raw) => (raw['network']!['addressPool'] = ['192.168.10.1-192.168.10.40']),
      'network.addressPool[0]',
      /gateway/,
    ],
    [
      'a pool with reversed ends',
      (raw: Raw) => (raw['network']!['addressPool'] = ['192.168.10.40-192.168.10.20']),
      'network.addressPool[0]',
      /range like/,
    ],
    [
      'the broadcast address in the pool',
      (raw: Raw) => (raw['network']!['addressPool'] = ['192.168.10.200-192.168.10.255']),
      'network.addressPool[0]',
      /outside the usable addresses/,
    ],
    [
      'a gateway that is not an address',
      (raw: Raw) => (raw['network']!['gateway'] = '192.168.10.256'),
      'network.gateway',
      /not an IP address/,
    ],
    [
      'pod and service ranges that overlap',
      (raw: Raw) => (raw['network']!['serviceSubnets'] = ['10.244.128.0/20']),
      'network.serviceSubnets[0]',
      /network\.podSubnets\[0\]/,
    ],
    [
      'a pod range that covers the nodes',
      (raw: Raw) => (raw['network']!['podSubnets'] = ['192.168.0.0/16']),
      'network.podSubnets[0]',
      /nodes' subnet/,
    ],
  ])('are reported with their field: %s', (_, change, field, words) => {
    const findings = corrupted(change);
    expect(findings.map((finding) => finding.field)).toEqual([field]);
    expect(findings[0]?.message).toMatch(words);
  });

  it.each<[string, (raw: Raw) => unknown, string, RegExp]>([
    ['a gateway that is a network address', network({ gateway: '192.168.10.0' }), 'network.gateway', /first or last/],
    ['a name server that is a name', network({ nameServers: ['dad'] }), 'network.nameServers[0]', /not an IP address/],
    ['a name server with a port', network({ nameServers: ['1.1.1.1:53'] }), 'network.nameServers[0]', /IP address/],
    ['an invalid time server', network({ timeServers: ['a b'] }), 'network.timeServers[0]', /neither a host name/],
    [
      'a time server with a typing error',
      network({ timeServers: ['10.0.0.256'] }),
      'network.timeServers[0]',
      /neither a host name/,
    ],
    ['a domain with an empty label', network({ dnsDomain: 'a..b' }), 'network.dnsDomain', /not a DNS name/],
    ['a factory that is not a URL', talos({ factoryUrl: 'https://[' }), 'talos.factoryUrl', /lower-case path/],
    ['a factory with a password', talos({ factoryUrl: 'https://me:secret@f.example.org' }), 'talos.factoryUrl', /user/],
    ['a factory that image names do not allow', talos({ factoryUrl: 'https://f/Talos' }), 'talos.factoryUrl', /lower/],
    [
      'a discovery service with a path',
      talos({ discovery: { endpoint: 'https://d/x' } }),
      'talos.discovery.endpoint',
      /path/,
    ],
    ['a custom CNI without URLs', network({ cni: { name: 'Custom' } }), 'network.cni.urls', /required with/],
    ['URLs without a custom CNI', network({ cni: { urls: ['https://a/b'] } }), 'network.cni.urls', /must be omitted/],
    [
      'KubeSpan without discovery',
      (raw: Raw) => {
        network({ kubeSpan: { enabled: true } })(raw);
        talos({ discovery: { enabled: false } })(raw);
      },
      'network.kubeSpan.enabled',
      /talos\.discovery\.enabled/,
    ],
    [
      'a region beside a cloud controller manager',
      (raw: Raw) => {
        network({ region: 'basement' })(raw);
        kubernetes({ externalCloudProvider: { enabled: true } })(raw);
      },
      'network.region',
      /sets the region: omit it/,
    ],
    [
      'an extra manifest that is not a URL',
      kubernetes({ extraManifests: ['https://['] }),
      'kubernetes.extraManifests[0]',
      /no URL/,
    ],
    [
      'an inline manifest that is no YAML',
      kubernetes({ inlineManifests: [{ name: 'a', contents: 'a: [hidden' }] }),
      'kubernetes.inlineManifests[0].contents',
      /^(?!.*hidden).*no YAML/,
    ],
    [
      'an inline manifest without an object',
      kubernetes({ inlineManifests: [{ name: 'a', contents: '# nothing\n---\n' }] }),
      'kubernetes.inlineManifests[0].contents',
      /no object/,
    ],
    [
      'an inline manifest whose object has no name',
      kubernetes({ inlineManifests: [{ name: 'a', contents: 'apiVersion: v1\nkind: Pod\n' }] }),
      'kubernetes.inlineManifests[0].contents',
      /object 1 needs/,
    ],
    [
      'a mirror with a query',
      talos({ registries: { mirrors: [{ registry: '*', endpoints: ['https://m/?a'] }] } }),
      'talos.registries.mirrors[0].endpoints[0]',
      /without query/,
    ],
    [
      'authorities without mirrors',
      talos({ registries: { caBundle: 'x' } }),
      'talos.registries.caBundle',
      /talos\.registries\.mirrors/,
    ],
    [
      'authorities of mirrors that are no certificates',
      talos({ registries: { caBundle: 'x', mirrors: [{ registry: '*', endpoints: ['https://m'] }] } }),
      'talos.registries.caBundle',
      /no valid certificate/,
    ],
    ['a proxy with a path', talos({ proxy: { http: 'http://p/x' } }), 'talos.proxy.http', /without path/],
    ['a proxy without a URL', talos({ proxy: { noProxy: ['a'] } }), 'talos.proxy', /set http or https/],
    ['an endpoint with a port above 65535', endpoint('k8s:70000'), 'controlPlane.endpoint', /65535/],
    ['a bare IPv6 endpoint', endpoint('fd00::5'), 'controlPlane.endpoint', /\[fd00::5\]:6443/],
    ['an endpoint of brackets', endpoint(']['), 'controlPlane.endpoint', /not a host name or IP address/],
    [
      'an endpoint with a typing error',
      endpoint('192.168.10.256'),
      'controlPlane.endpoint',
      /not a host name or IP address/,
    ],
    [
      'a pool with the endpoint in it',
      endpoint('192.168.10.30:6443'),
      'network.addressPool[0]',
      /controlPlane\.endpoint/,
    ],
    [
      'a pool with a name server in it',
      network({ nameServers: ['192.168.10.20'] }),
      'network.addressPool[0]',
      /contains 192\.168\.10\.20, which is network\.nameServers\[0\]\. Exclude it/,
    ],
    [
      'a pool with one address in two other fields',
      network({ gateway: '192.168.10.30', nameServers: ['192.168.10.30'] }),
      'network.addressPool[0]',
      /network\.gateway and network\.nameServers\[0\]/,
    ],
    [
      'a pool with the factory in it',
      talos({ factoryUrl: 'http://192.168.10.25:80' }),
      'network.addressPool[0]',
      /factoryUrl/,
    ],
    [
      'a pool with the platform in it',
      network({ addressPool: ['192.168.10.230-192.168.10.250'] }),
      'network.addressPool[0]',
      /truenas\.url/,
    ],
    ['an invalid Pod range', network({ podSubnets: ['10.244.0.0/64'] }), 'network.podSubnets[0]', /not a CIDR range/],
    [
      'an invalid IPv6 range',
      network({ serviceSubnets: ['10.96.0.0/12', ':::/108'] }),
      'network.serviceSubnets[1]',
      /not a CIDR range/,
    ],
    [
      'a range that does not begin with its first address',
      network({ podSubnets: ['10.244.7.0/16'] }),
      'network.podSubnets[0]',
      /first address/,
    ],
    ['IPv6 first', network({ serviceSubnets: ['fd00::/108'] }), 'network.serviceSubnets[0]', /IPv4 range first/],
    ['IPv4 twice', network({ podSubnets: ['10.1.0.0/16', '10.2.0.0/16'] }), 'network.podSubnets[1]', /is IPv4, but/],
    [
      'IPv6 ranges that overlap',
      network({ podSubnets: ['10.1.0.0/16', 'fd00::/56'], serviceSubnets: ['10.2.0.0/16', 'fd00::/108'], ipv6 }),
      'network.serviceSubnets[1]',
      /overlaps network\.podSubnets\[1\]/,
    ],
    [
      'a name server in the Pod range',
      network({ nameServers: ['10.244.0.10'] }),
      'network.podSubnets[0]',
      /would be unreachable/,
    ],
    ['an endpoint in the Service range', endpoint('10.96.0.10'), 'network.serviceSubnets[0]', /controlPlane\.endpoint/],
    [
      'too many Services for an old Kubernetes',
      versionsAndServices('1.33.1', '10.0.0.0/8'),
      'network.serviceSubnets[0]',
      /too large/,
    ],
    [
      'too few Services for the cluster DNS',
      network({ serviceSubnets: ['10.96.0.0/29'] }),
      'network.serviceSubnets[0]',
      /too small/,
    ],
    [
      'Pods for one node of three',
      network({ podSubnets: ['10.244.0.0/24'] }),
      'network.podSubnets[0]',
      /Use \/22 or shorter/,
    ],
    [
      'more IPv6 Pods than Kubernetes supports',
      network({ podSubnets: ['10.1.0.0/16', 'fd00::/40'], ipv6 }),
      'network.podSubnets[1]',
      /Use \/48/,
    ],
    ['an invalid label key', worker({ labels: { 'a b': 'c' } }), 'workerPools[0].labels', /not a label key/],
    ['an invalid label value', worker({ labels: { a: 'b c' } }), 'workerPools[0].labels', /valid value of the label a/],
    [
      'a label that workers must not have',
      worker({ labels: { 'node-role.kubernetes.io/x': '' } }),
      'workerPools[0].labels',
      /prefix/,
    ],
    [
      'a label of this provider',
      worker({ labels: { 'talos.clusters.openmcp.cloud/pool': 'x' } }),
      'workerPools[0].labels',
      /by the provider/,
    ],
    [
      'an invalid taint key',
      worker({ taints: [{ key: '/', effect: 'NoExecute' }] }),
      'workerPools[0].taints[0].key',
      /taint key/,
    ],
    [
      'an invalid taint value',
      worker({ taints: [{ key: 'a', value: 'b c', effect: 'NoExecute' }] }),
      'workerPools[0].taints[0].value',
      /valid value of a taint/,
    ],
    [
      'a duplicate taint',
      worker({ taints: [1, 2].map((n) => ({ key: 'a', value: `${n}`, effect: 'NoExecute' })) }),
      'workerPools[0].taints[1]',
      /the same key a and effect/,
    ],
    [
      'a time zone that does not exist',
      (raw: Raw) =>
        Object.assign(raw, { rollout: { windows: [{ from: '22:00', to: '04:00', timeZone: 'Mars/Base' }] } }),
      'rollout.windows[0].timeZone',
      /no time zone Mars\/Base/,
    ],
  ])('are reported with their field and the action to take: %s', (_, change, field, words) => {
    const findings = corrupted((raw) => void change(raw));
    expect(findings.map((finding) => finding.field)).toEqual([field]);
    expect(findings[0]?.message).toMatch(words);
  });

  it('exclude large ranges that Kubernetes accepts', () => {
    expect(corrupted((raw) => void versionsAndServices('1.34.0', '10.0.0.0/9')(raw))).toEqual([]);
  });

  it('exclude the size of the Pod range if a patch replaces the CNI', () => {
    const patches = [{ cluster: { network: { cni: { name: 'none' } } } }];
    const small = (raw: Raw) => network({ podSubnets: ['10.244.0.0/24'] })(raw);
    expect(corrupted((raw) => void [small(raw), Object.assign(raw['controlPlane']!, { patches })])).toEqual([]);
  });
});

it('patches are not checked while other fields are invalid, because their messages would be misleading', () => {
  const both = (raw: Raw) => [network({ dnsDomain: 'a..b' })(raw), talos({ patches: [{ machin: {} }] })(raw)];
  expect(corrupted((raw) => void both(raw)).map(({ field }) => field)).toEqual(['network.dnsDomain']);
  expect(corrupted((raw) => void talos({ patches: [{ machin: {} }] })(raw)).map(({ field }) => field)).toEqual([
    'talos.patches[0]',
  ]);
});

function versionsAndServices(version: string, subnet: string) {
  return (raw: Raw) => {
    Object.assign(raw['kubernetes']!, { versions: [{ version }] });
    network({ serviceSubnets: [subnet], podSubnets: ['172.16.0.0/12'] })(raw);
  };
}
