import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { exampleConfigInput, exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import { highestClass } from '../../../engine/change-class.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import type { SecretsBundle } from '../../secrets/secrets-bundle.ts';
import { type MachineConfigInput, renderMachineConfig } from '../machine-config.ts';
import { mayRestartApiServer } from './change-class.ts';
import { listConfigChanges } from './config-changes.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});
const render = (changes: Partial<MachineConfigInput> = {}): SecretString =>
  renderMachineConfig(exampleConfigInput(bundle, changes));
const patched = (document: Record<string, unknown>): Partial<MachineConfigInput> => ({
  patches: [{ from: 'talos.patches[0]', document }],
});
const network = (more: object) => ({ network: { ...exampleConfigInput(bundle).network, ...more } });

describe('the differences of two configurations', () => {
  it('are none between equal ones, in any format and order', () => {
    const config = render();
    const reversed = config.reveal().split('---\n').reverse().join('---\n');
    expect(listConfigChanges(config, render())).toEqual([]);
    expect(listConfigChanges(new SecretString(reversed.replaceAll('"', "'")), config)).toEqual([]);
  });

  it('are none where talosctl has written empty fields', () => {
    const worker = render({ role: 'worker' });
    const [main = '', ...others] = worker.reveal().split('---\n');
    const { machine, cluster, ...rest } = parse(main);
    const edited = {
      ...rest,
      machine: { ...machine, ca: { ...machine.ca, key: '' } },
      cluster: {
        ...cluster,
        ca: { ...cluster.ca, key: '' },
        discovery: {
          ...cluster.discovery,
          registries: { kubernetes: {}, service: {}, ...cluster.discovery.registries },
        },
      },
    };
    const text = [stringify(edited), ...others].join('---\n');
    expect(listConfigChanges(new SecretString(text), worker)).toEqual([]);
    const withProxy = (lines: string) =>
      new SecretString(`${text}---\napiVersion: v1alpha1\nkind: KubeProxyConfig\nenabled: false\n${lines}`);
    expect(listConfigChanges(withProxy('config: {}\n'), withProxy(''))).toEqual([]);
    // An empty value of a label or of an argument is a value.
    const labelled = stringify({ ...rest, cluster, machine: { ...machine, nodeLabels: { gpu: '' } } });
    expect(listConfigChanges(worker, new SecretString([labelled, ...others].join('---\n')))).toEqual([
      { field: 'machine.nodeLabels.gpu', class: 'live' },
    ]);
    // A key that differs is a difference.
    const other = stringify({ ...rest, cluster, machine: { ...machine, ca: { ...machine.ca, key: 'a2V5' } } });
    expect(listConfigChanges(worker, new SecretString([other, ...others].join('---\n')))).toEqual([
      { field: 'machine.ca.key', class: 'live' },
    ]);
  });

  it.each<[string, () => Partial<MachineConfigInput>, string, string]>([
    ['a label', () => ({ nodeLabels: { disk: 'fast' } }), 'machine.nodeLabels.disk', 'live'],
    ['time servers', () => network({ timeServers: ['192.0.2.1'] }), 'machine.time', 'live'],
    [
      'an argument of the kubelet',
      () => patched({ machine: { kubelet: { extraArgs: { v: '4' } } } }),
      'machine.kubelet.extraArgs.v',
      'live',
    ],
    ['an environment variable', () => patched({ machine: { env: { a: 'b' } } }), 'machine.env', 'restart'],
    [
      'an argument of the API server',
      () => patched({ cluster: { apiServer: { extraArgs: { v: '4' } } } }),
      'cluster.apiServer.extraArgs',
      'live',
    ],
    [
      'another installer',
      () => ({ installerImage: 'factory.example.org/nocloud-installer/a:v1.13.9' }),
      'machine.install.image',
      'live',
    ],
    ['a proxy', () => ({ proxy: { http: 'http://192.0.2.1:3128', noProxy: [] } }), 'machine.env', 'restart'],
    [
      'a mirror',
      () => ({
        registries: {
          mirrors: [{ registry: '*', endpoints: ['https://192.0.2.1'], overridePath: false, skipFallback: false }],
        },
      }),
      'machine.registries',
      'restart',
    ],
    ['KubeSpan', () => network({ kubeSpan: true }), 'machine.network.kubespan', 'live'],
    [
      'manifests',
      () => ({ manifests: { urls: ['https://example.org/a.yaml'], inline: [] } }),
      'cluster.extraManifests',
      'live',
    ],
    ['another CNI', () => network({ cni: { name: 'none' } }), 'cluster.network.cni', 'live'],
    [
      'another document',
      () => patched({ apiVersion: 'v1alpha1', kind: 'WatchdogTimerConfig', device: '/dev/watchdog0' }),
      'WatchdogTimerConfig',
      'live',
    ],
  ])('name %s and what it needs', (_, changes, field, class_) => {
    const found = listConfigChanges(render(), render(changes()));
    expect(found).toContainEqual({ field: expect.stringContaining(field), class: class_ });
    expect(highestClass(found)).toBe(class_);
  });

  it('name a taint with which a worker registers as one that needs another machine', () => {
    const worker = (nodeTaints: MachineConfigInput['nodeTaints']) => render({ role: 'worker', nodeTaints });
    const taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' as const };
    expect(highestClass(listConfigChanges(worker([]), worker([taint])))).toBe('replace');
    expect(highestClass(listConfigChanges(worker([taint]), worker([{ ...taint, value: 'no' }])))).toBe('replace');
  });

  it('name the component of Kubernetes whose version differs, in the main document and in others', () => {
    const changed = (talosVersion: string) =>
      listConfigChanges(render({ talosVersion }), render({ talosVersion, components: { apiServer: '1.36.1' } }));
    expect(changed('1.13.9')).toEqual([{ field: 'cluster.apiServer.image', class: 'kubernetes' }]);
    expect(changed('1.14.0')).toEqual([{ field: 'KubeAPIServerConfig.image', class: 'kubernetes' }]);
    const patch = patched({ apiVersion: 'v1alpha1', kind: 'KubeAPIServerConfig', extraArgs: { v: '4' } });
    const both = { talosVersion: '1.14.0', components: { apiServer: '1.36.1' } };
    expect(listConfigChanges(render({ talosVersion: '1.14.0' }), render({ ...both, ...patch }))).toEqual([
      { field: 'KubeAPIServerConfig.image', class: 'kubernetes' },
      { field: 'KubeAPIServerConfig', class: 'live' },
    ]);
  });

  it('never contain a value', () => {
    const other = render({
      ...patched({ machine: { sysctls: { 'net.core.somaxconn': '65535' } } }),
      nodeLabels: { a: 'hidden' },
    });
    const text = JSON.stringify(listConfigChanges(render(), other));
    expect(text).not.toMatch(/hidden|65535/);
  });

  it('cannot be found in a text that is no YAML', () => {
    expect(() => listConfigChanges(new SecretString('a: [1'), render())).toThrow(/cannot be read/);
  });
});

describe('the static pod of kube-apiserver', () => {
  it.each([
    'cluster.apiServer.extraArgs',
    'cluster.serviceAccount',
    'cluster.aFieldOfTomorrow',
    'KubeAPIServerConfig.image',
    'KubeAuthenticationConfig',
    'KubeAdmissionControlConfig PodSecurity',
  ])('may be recreated for a change of %s', (field) => {
    expect(mayRestartApiServer(field)).toBe(true);
  });

  it.each([
    'machine.nodeLabels.disk',
    'cluster.allowSchedulingOnControlPlanes',
    'cluster.scheduler.image',
    'KubeSchedulerConfig.image',
    'KubeNodeConfig',
    'WatchdogTimerConfig',
  ])('stays as it is for a change of %s', (field) => {
    expect(mayRestartApiServer(field)).toBe(false);
  });
});
