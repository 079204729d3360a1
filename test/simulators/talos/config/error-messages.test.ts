import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findPeer, missingPeers } from '../../../peers/find-peer.ts';
import { errorList } from '../../../world/talos/config/config-error.ts';
import { decodeConfig } from '../../../world/talos/config/decode-config.ts';
import { validateConfig } from '../../../world/talos/config/validate-config.ts';
import { makeConfig, makeSecrets } from '../testing/test-config.ts';

const secrets = await makeSecrets();
const placement = { mac: '02:00:00:00:00:01', address: '127.42.9.1', endpoint: 'https://127.42.9.1:6443' };
const control = makeConfig({ ...placement, secrets, role: 'controlplane', hostname: 'one', factory: '127.0.0.1:1' });
const worker = makeConfig({ ...placement, secrets, role: 'worker', hostname: 'one', factory: '127.0.0.1:1' });

const withArgument = (section: string, value: string): string =>
  control
    .replace(/ {4}extraArgs:\n {6}provider-id: .*\n/, '')
    .replace(`${section}:\n`, `${section}:\n    extraArgs:\n      some-flag: ${value}\n`);
const withDocument = (text: string): string => `${control}---\napiVersion: v1alpha1\n${text}`;

/** The simulator's error for a configuration: empty when it accepts it. */
function simulatedMessage(text: string, minor: number): string {
  const context = {
    minor,
    version: `1.${minor}.0`,
    mode: 'cloud' as const,
    installed: false,
    selectorFits: () => true,
  };
  try {
    const { errors } = validateConfig(decodeConfig(text, minor), context);
    return errors.length === 0 ? '' : errorList(errors).trimEnd();
  } catch (error) {
    return (error as Error).message.trimEnd();
  }
}

describe('a list as the value of an extra argument', () => {
  const sections = ['apiServer', 'controllerManager', 'scheduler', 'proxy', 'etcd', 'kubelet'];

  it.each(sections)('of %s is refused by Talos 1.12', (section) => {
    expect(simulatedMessage(withArgument(section, '[a, b]').replaceAll(':v1.36.3', ':v1.35.4'), 12)).toMatch(
      /^error decoding document \/v1alpha1\/ \(line 1\): error decoding {2}to \*v1alpha1\.Config: yaml: unmarshal errors:\n {2}line \d+: cannot unmarshal !!seq into string$/,
    );
  });

  it.each(sections)('of %s is accepted by the newest patches of Talos 1.13 and 1.14', (section) => {
    const text = withArgument(section, '[a, b]').replaceAll(':v1.36.3', ':v1.35.4');
    expect([13, 14].map((minor) => simulatedMessage(text, minor))).toEqual(['', '']);
  });
});

/** Configurations with one error each, and some valid ones. */
const cases: readonly (readonly [string, string])[] = [
  ['a valid configuration', control],
  ...['apiServer', 'etcd', 'kubelet'].map(
    (section) => [`a list for ${section}`, withArgument(section, '[a]')] as const,
  ),
  ['an empty list', withArgument('scheduler', '[]')],
  ['a map', withArgument('apiServer', '{a: b}')],
  ['a list of lists', withArgument('apiServer', '[[a]]')],
  ...['5', '1.5', 'true', 'null', '"x"'].map((value) => [`the value ${value}`, withArgument('proxy', value)] as const),
  ['a list of extra arguments', control.replace('apiServer:', 'apiServer:\n    extraArgs: [x]')],
  ['unknown keys in two places', control.replace('token:', 'tokenn:').replace('clusterName:', 'clustername:')],
  ['unknown keys and a list', withArgument('apiServer', '[a]').replace('token:', 'tokenn:')],
  ['unknown keys in a list', withDocument('kind: LinkConfig\nname: eth0\naddresses:\n  - foo: {a: [1]}\n')],
  ['a list for a map', 'machine: []\n'],
  ['a map for a list', control.replace('certSANs: []', 'certSANs: {a: b}')],
  ['a text for a list', control.replace('certSANs: []', 'certSANs: somewhere.example')],
  ['strings for other types', control.replace('wipe: false', 'wipe: maybe').replace('port: 7445', 'port: "7445"')],
  ['a number with a point', control.replace('port: 7445', 'port: 1.5')],
  ['a map for a text', control.replace('clusterName: example', 'clusterName: {a: b}')],
  ['a key that is there twice', 'machine:\n  type: worker\n  type: worker\n'],
  ['base64 that is none', control.replace(/^ {4}crt: \S+/m, '    crt: "!!!"')],
  ['a duration that is none', control.replace('features:', 'time:\n    bootTimeout: soon\n  features:')],
  ['an unknown kind', 'apiVersion: v1alpha1\nkind: NoSuchConfig\n'],
  ['no apiVersion', 'kind: HostnameConfig\nhostname: x\n'],
  ['a document of its own twice', withDocument('kind: HostnameConfig\nhostname: b\n')],
  ['a document of a wrong type', withDocument('kind: LinkConfig\nname: eth0\nup: 5\n')],
  ['a bare text', 'hello\n'],
  ['nothing', ''],
  ['no endpoint', control.replace(/controlPlane:\n\s+endpoint: \S+/, 'controlPlane: {}')],
  ['an endpoint that is none', control.replace(/endpoint: \S+/, 'endpoint: example:6443')],
  ['an unknown type', control.replace('type: controlplane', 'type: master')],
  [
    'labels and taints',
    worker.replace('features:', 'nodeTaints: {a: b:Bad}\n  nodeLabels: {"a b": c, d: "e f"}\n  features:'),
  ],
  ['etcd on a worker', worker.replace('cluster:\n', 'cluster:\n  etcd: {}\n')],
  ['two host names', control.replace('hostname: one', 'hostname: one\nauto: stable')],
];

const folder = mkdtempSync(join(tmpdir(), 'talosctl-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.each([
  ['talosctl', 13],
  ['talosctl-1.14', 14],
] as const)('the error messages of the real %s', (peer, minor) => {
  const binary = findPeer(peer);

  it.for(cases)('%s', ([, text], { skip }) => {
    if (!binary) return skip(missingPeers(peer));
    const file = join(folder, 'config.yaml');
    writeFileSync(file, text);
    const { status, stderr } = spawnSync(binary, ['validate', '--mode', 'cloud', '--config', file], {
      encoding: 'utf8',
    });
    expect(simulatedMessage(text, minor)).toBe(status === 0 ? '' : stderr.replace(/^WARNING: .*\n/, '').trimEnd());
  });
});
