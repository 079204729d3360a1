import { isRecord, recordsAt, valueAt } from './document.ts';
import { expectTexts, expectThat, type Rule } from './rule.ts';
import { isCidr, isDnsName, isSubnetFilter, toUrl } from './syntax.ts';

const isFilled = (value: unknown): boolean => typeof value === 'string' && value !== '';

const endpoint: Rule = (main) =>
  expectThat(
    toUrl(valueAt(main, 'cluster.controlPlane.endpoint'))?.protocol === 'https:',
    'cluster.controlPlane.endpoint must be a URL like https://192.168.10.20:6443.',
  );

const authorities: Rule = (main, { role }) => {
  if (role === 'worker') {
    return expectThat(!isFilled(valueAt(main, 'cluster.ca.key')), 'cluster.ca.key must not be on a worker.');
  }
  const needed = ['ca.crt', 'ca.key', 'aggregatorCA.crt', 'aggregatorCA.key', 'serviceAccount.key'];
  return needed.flatMap((path) =>
    expectThat(isFilled(valueAt(main, `cluster.${path}`)), `cluster.${path} is missing.`),
  );
};

const etcd: Rule = (main, { role }) => {
  const section = valueAt(main, 'cluster.etcd');
  if (role === 'worker') return expectThat(section === undefined, 'cluster.etcd must not be on a worker.');
  const lists = ['advertisedSubnets', 'listenSubnets'].flatMap((key) => {
    const list = valueAt(section, key);
    const good = list === undefined || (Array.isArray(list) && list.every(isSubnetFilter));
    return expectThat(good, `cluster.etcd.${key} holds something that is no subnet.`);
  });
  return [
    ...expectThat(
      isFilled(valueAt(section, 'ca.crt')) && isFilled(valueAt(section, 'ca.key')),
      'cluster.etcd.ca is missing: crt and key are needed.',
    ),
    ...expectThat(
      valueAt(section, 'subnet') === undefined || valueAt(section, 'advertisedSubnets') === undefined,
      'cluster.etcd.subnet and advertisedSubnets exclude each other: leave subnet out.',
    ),
    ...lists,
  ];
};

const network: Rule = (main) => {
  const subnets = (path: string) => {
    const list = valueAt(main, path);
    return expectThat(
      list === undefined || (Array.isArray(list) && list.length > 0 && list.every(isCidr)),
      `${path} holds something that is no subnet like 10.244.0.0/16.`,
    );
  };
  const domain = valueAt(main, 'cluster.network.dnsDomain');
  return [
    ...subnets('cluster.network.podSubnets'),
    ...subnets('cluster.network.serviceSubnets'),
    ...expectThat(domain === undefined || isDnsName(domain), 'cluster.network.dnsDomain is no DNS name.'),
  ];
};

const cni: Rule = (main) => {
  const section = valueAt(main, 'cluster.network.cni');
  if (!isRecord(section)) return [];
  const name = section['name'] ?? '';
  const urls = section['urls'];
  return [
    ...expectThat(
      ['', 'flannel', 'custom', 'none'].includes(String(name)),
      'cluster.network.cni.name must be flannel, custom or none.',
    ),
    ...expectThat(
      name === 'custom' || !(Array.isArray(urls) && urls.length > 0),
      'cluster.network.cni.urls needs name: custom.',
    ),
    ...expectThat(
      section['flannel'] === undefined || name === 'flannel' || name === '',
      'cluster.network.cni.flannel needs name: flannel.',
    ),
  ];
};

const discovery: Rule = (main) => {
  if (valueAt(main, 'cluster.discovery.enabled') !== true) return [];
  const service = valueAt(main, 'cluster.discovery.registries.service.endpoint');
  const url = toUrl(service);
  return [
    ...expectThat(
      isFilled(valueAt(main, 'cluster.id')) && isFilled(valueAt(main, 'cluster.secret')),
      'cluster.discovery needs cluster.id and cluster.secret.',
    ),
    ...expectThat(
      service === undefined || service === '' || (url !== undefined && ['', '/'].includes(url.pathname)),
      'cluster.discovery.registries.service.endpoint must be a URL without a path: correct talos.discovery.endpoint.',
    ),
  ];
};

const manifests: Rule = (main) => {
  const names = recordsAt(main, 'cluster.inlineManifests').map((manifest) => manifest['name']);
  const urls = valueAt(main, 'cluster.extraManifests');
  return [
    ...expectThat(names.every(isFilled), 'cluster.inlineManifests: every manifest needs a name.'),
    ...expectThat(new Set(names).size === names.length, 'cluster.inlineManifests: two manifests have the same name.'),
    ...expectThat(
      urls === undefined || (Array.isArray(urls) && urls.every((url) => toUrl(url) !== undefined)),
      'cluster.extraManifests holds something that is no URL.',
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

const extraArguments: Rule = (main) =>
  argumentPaths.flatMap((path) => expectTexts(valueAt(main, `${path}.extraArgs`), `${path}.extraArgs`));

/** The rules about `cluster`. */
export const clusterRules: readonly Rule[] = [
  endpoint,
  authorities,
  etcd,
  network,
  cni,
  discovery,
  manifests,
  extraArguments,
];
