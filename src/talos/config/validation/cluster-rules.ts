import { isRecord, recordsAt, valueAt } from '../config-document.ts';
import { isCidr, isDnsName, isSubnetFilter, toUrl } from '../schema/formats.ts';
import { type MainDocumentRule, problemsUnlessTexts, problemUnless } from './rule.ts';

const isNonEmptyText = (value: unknown): boolean => typeof value === 'string' && value !== '';

const endpointRule: MainDocumentRule = (main) =>
  problemUnless(
    toUrl(valueAt(main, 'cluster.controlPlane.endpoint'))?.protocol === 'https:',
    'cluster.controlPlane.endpoint must be a URL like https://192.168.10.20:6443.',
  );

const authoritiesRule: MainDocumentRule = (main, { role }) => {
  if (role === 'worker') {
    return problemUnless(!isNonEmptyText(valueAt(main, 'cluster.ca.key')), 'cluster.ca.key must not be on a worker.');
  }
  const needed = ['ca.crt', 'ca.key', 'aggregatorCA.crt', 'aggregatorCA.key', 'serviceAccount.key'];
  return needed.flatMap((path) =>
    problemUnless(isNonEmptyText(valueAt(main, `cluster.${path}`)), `cluster.${path} is missing.`),
  );
};

const etcdRule: MainDocumentRule = (main, { role }) => {
  const section = valueAt(main, 'cluster.etcd');
  if (role === 'worker') return problemUnless(section === undefined, 'cluster.etcd must not be on a worker.');
  const lists = ['advertisedSubnets', 'listenSubnets'].flatMap((key) => {
    const list = valueAt(section, key);
    const good = list === undefined || (Array.isArray(list) && list.every(isSubnetFilter));
    return problemUnless(good, `cluster.etcd.${key} contains a value that is not a subnet.`);
  });
  return [
    ...problemUnless(
      isNonEmptyText(valueAt(section, 'ca.crt')) && isNonEmptyText(valueAt(section, 'ca.key')),
      'cluster.etcd.ca is missing: crt and key are needed.',
    ),
    ...problemUnless(
      valueAt(section, 'subnet') === undefined || valueAt(section, 'advertisedSubnets') === undefined,
      'cluster.etcd.subnet and advertisedSubnets exclude each other: omit subnet.',
    ),
    ...lists,
  ];
};

const networkRule: MainDocumentRule = (main) => {
  const subnets = (path: string) => {
    const list = valueAt(main, path);
    return problemUnless(
      list === undefined || (Array.isArray(list) && list.length > 0 && list.every(isCidr)),
      `${path} contains a value that is not a subnet like 10.244.0.0/16.`,
    );
  };
  const domain = valueAt(main, 'cluster.network.dnsDomain');
  return [
    ...subnets('cluster.network.podSubnets'),
    ...subnets('cluster.network.serviceSubnets'),
    ...problemUnless(domain === undefined || isDnsName(domain), 'cluster.network.dnsDomain is not a DNS name.'),
  ];
};

const cniRule: MainDocumentRule = (main) => {
  const section = valueAt(main, 'cluster.network.cni');
  if (!isRecord(section)) return [];
  const name = section['name'] ?? '';
  const urls = section['urls'];
  return [
    ...problemUnless(
      ['', 'flannel', 'custom', 'none'].includes(String(name)),
      'cluster.network.cni.name must be flannel, custom or none.',
    ),
    ...problemUnless(
      name === 'custom' || !(Array.isArray(urls) && urls.length > 0),
      'cluster.network.cni.urls needs name: custom.',
    ),
    ...problemUnless(
      section['flannel'] === undefined || name === 'flannel' || name === '',
      'cluster.network.cni.flannel needs name: flannel.',
    ),
  ];
};

const discoveryRule: MainDocumentRule = (main) => {
  if (valueAt(main, 'cluster.discovery.enabled') !== true) return [];
  const service = valueAt(main, 'cluster.discovery.registries.service.endpoint');
  const url = toUrl(service);
  return [
    ...problemUnless(
      isNonEmptyText(valueAt(main, 'cluster.id')) && isNonEmptyText(valueAt(main, 'cluster.secret')),
      'cluster.discovery needs cluster.id and cluster.secret.',
    ),
    ...problemUnless(
      service === undefined || service === '' || (url !== undefined && ['', '/'].includes(url.pathname)),
      'cluster.discovery.registries.service.endpoint must be a URL without a path: correct talos.discovery.endpoint.',
    ),
  ];
};

const manifestsRule: MainDocumentRule = (main) => {
  const names = recordsAt(main, 'cluster.inlineManifests').map((manifest) => manifest['name']);
  const urls = valueAt(main, 'cluster.extraManifests');
  return [
    ...problemUnless(names.every(isNonEmptyText), 'cluster.inlineManifests: every manifest needs a name.'),
    ...problemUnless(
      new Set(names).size === names.length,
      'cluster.inlineManifests: two manifests have the same name.',
    ),
    ...problemUnless(
      urls === undefined || (Array.isArray(urls) && urls.every((url) => toUrl(url) !== undefined)),
      'cluster.extraManifests contains a value that is not a URL.',
    ),
  ];
};

const argumentPaths = [
  'machine.kubelet',
  'cluster.apiServer',
  'cluster.controllerManager',
  'cluster.scheduler',
  'cluster.proxy',
  'cluster.etcd',
];

const extraArgumentsRule: MainDocumentRule = (main) =>
  argumentPaths.flatMap((path) => problemsUnlessTexts(valueAt(main, `${path}.extraArgs`), `${path}.extraArgs`));

/** The rules about `cluster`. */
export const clusterRules: readonly MainDocumentRule[] = [
  endpointRule,
  authoritiesRule,
  etcdRule,
  networkRule,
  cniRule,
  discoveryRule,
  manifestsRule,
  extraArgumentsRule,
];
