import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { missingPeers } from '../../peers/find.ts';
import { describeWith } from '../../support/needs.ts';
import { runTalosctl, talosctl, talosctl114 } from '../../talos/talosctl.ts';
import { decodeConfig } from './config/decode.ts';
import { validateConfig } from './config/validate.ts';
import { clientAuth, issueLeaf } from './pki.ts';
import { makeConfig, makeSecrets, nextMac, startWorld, type TestWorld, until } from './testing.ts';

const run = promisify(execFile);

describeWith('configurations made by the real talosctl are accepted', missingPeers('talosctl'), () => {
  it.for([
    ['1.12', talosctl, '1.35.4', 12],
    ['1.13', talosctl, '1.36.3', 13],
    ['1.14', talosctl114, '1.36.3', 14],
  ] as const)('in the form of %s', ([version, binary, kubernetes, minor], { skip }) => {
    if (!binary) return skip(missingPeers('talosctl-1.14'));
    for (const type of ['controlplane', 'worker']) {
      const args = [
        'gen',
        'config',
        'example',
        'https://10.0.0.1:6443',
        '--talos-version',
        `v${version}`,
        '--kubernetes-version',
        kubernetes,
      ];
      const text = runTalosctl(binary, [...args, '--output-types', type, '--output', 'out.yaml'], {}, 'out.yaml');
      const context = {
        minor,
        version: `${version}.0`,
        mode: 'cloud' as const,
        installed: false,
        selectorFits: () => true,
      };
      expect(validateConfig(decodeConfig(text, minor), context).errors).toEqual([]);
    }
  });
});

describeWith('the simulated nodes answer the real talosctl', missingPeers('talosctl'), () => {
  let world: TestWorld;
  let folder: string;
  let addresses: string[];
  let config: string;

  beforeAll(async () => {
    world = await startWorld(0.01);
    folder = mkdtempSync(join(tmpdir(), 'talosctl-'));
    const secrets = await makeSecrets();
    addresses = [world.address(), world.address(), world.address()];
    const [one = '', two = '', free = ''] = addresses;
    for (const [name, address] of [
      ['one', one],
      ['two', two],
    ] as const) {
      config = makeConfig({
        secrets,
        role: 'controlplane',
        hostname: name,
        mac: nextMac(),
        address,
        endpoint: `https://${one}:6443`,
        factory: world.factory.place,
      });
      world.start(world.machine(name, { 'user-data': config, 'meta-data': 'instance-id: x\n' }));
    }
    const network = { version: 2, ethernets: { any: { match: { macaddress: nextMac() }, addresses: [`${free}/16`] } } };
    world.start(world.machine('free', { 'meta-data': 'local-hostname: free\n', 'network-config': stringify(network) }));
    const leaf = await issueLeaf(secrets.os.authority, { organizations: ['os:admin'], usages: [clientAuth], hours: 1 });
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const key = base64(leaf.key.replaceAll('PRIVATE KEY', 'ED25519 PRIVATE KEY'));
    const context = {
      endpoints: [one],
      nodes: [one],
      ca: base64(secrets.os.authority.pem),
      crt: base64(leaf.cert),
      key,
    };
    writeFileSync(join(folder, 'talosconfig'), stringify({ context: 'test', contexts: { test: context } }));
    writeFileSync(join(folder, 'config.yaml'), config);
    await until(
      'both nodes to run from disk',
      () =>
        ['one', 'two'].every((name) => world.runner.node(name)?.console.some((line) => line.includes('boot sequence'))),
      30,
    );
  });
  afterAll(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** What talosctl prints, both streams, whether it succeeds or not. */
  const ctl = async (...args: string[]): Promise<string> => {
    const all = ['--talosconfig', join(folder, 'talosconfig'), ...args];
    const result = await run(talosctl ?? '', all, { cwd: folder, timeout: 60_000 }).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    return `${result.stdout}${result.stderr}`;
  };

  it('bootstraps once, and is refused the second time', async () => {
    await until('bootstrap', async () => (await ctl('bootstrap')) === '' || undefined);
    const refused = await until('a refusal', async () => {
      const text = await ctl('bootstrap');
      return text === '' ? undefined : text;
    });
    expect(refused).toContain('code = AlreadyExists desc = etcd data directory is not empty');
    await until('both ready', () => world.runner.node('one')?.ready && world.runner.node('two')?.ready, 30);
  });

  it('shows versions, services and resources', async () => {
    expect(await ctl('version', '--short')).toContain('v1.13.9');
    expect(await ctl('services')).toMatch(/etcd\s+Running\s+OK/);
    expect(await ctl('get', 'members')).toMatch(/Member\s+two\s+\d+\s+two\s+controlplane\s+Talos \(v1\.13\.9\)/);
    expect(await ctl('get', 'machinestatus')).toMatch(/machine\s+\d+\s+running\s+true/);
    expect(await ctl('get', 'links')).toMatch(/eth0\s+\d+\s+ether\s+02:/);
    expect(await ctl('get', 'addresses')).toContain(`eth0/${addresses[0]}/16`);
    expect(await ctl('get', 'disks')).toMatch(/vda\s+\d+\s+11 GB\s+false\s+virtio/);
    expect(await ctl('get', 'mc', 'v1alpha1', '-o', 'jsonpath={.spec}')).toContain('type: controlplane');
    expect(await ctl('get', 'nosuchthing')).toContain('resource "nosuchthing" is not registered');
  });

  it('lists etcd', async () => {
    expect((await ctl('etcd', 'members')).match(/https:\/\/[\d.]+:2379\s+false/g)).toHaveLength(2);
    expect(await ctl('etcd', 'status')).toMatch(/21 MB.*3\.6\.12/);
  });

  it('hands out a kubeconfig', async () => {
    await ctl('kubeconfig', join(folder, 'kubeconfig'));
    expect(readFileSync(join(folder, 'kubeconfig'), 'utf8')).toContain(`server: https://${addresses[0]}:6443`);
  });

  it('applies a configuration in each mode', async () => {
    const two = addresses[1] ?? '';
    const file = join(folder, 'config.yaml');
    expect(await ctl('-n', two, 'apply-config', '-f', file, '--mode', 'no-reboot')).toContain(
      'Applied configuration without a reboot',
    );
    writeFileSync(join(folder, 'other.yaml'), config.replace('certSANs: []', 'certSANs: [other.example]'));
    const trial = await ctl(
      '-n',
      two,
      'apply-config',
      '-f',
      join(folder, 'other.yaml'),
      '--mode',
      'try',
      '--timeout',
      '10m',
    );
    expect(trial).toContain("The config is applied in 'try' mode and will be automatically reverted back in 10m0s");
    expect(await ctl('-n', two, 'get', 'mc', 'v1alpha1', '-o', 'yaml')).toContain('other.example');
    await until(
      'the old one to come back',
      async () => !(await ctl('-n', two, 'get', 'mc', 'v1alpha1', '-o', 'yaml')).includes('other.example'),
    );
  });

  it('reads maintenance mode without a certificate, and may not read secrets there', async () => {
    const free = addresses[2] ?? '';
    expect(await ctl('-n', free, 'get', 'machinestatus', '--insecure')).toMatch(/maintenance\s+true/);
    expect(await ctl('-n', free, 'get', 'mc', '--insecure')).toContain('code = PermissionDenied desc = not authorized');
    expect(await ctl('-n', free, 'apply-config', '--insecure', '-f', join(folder, 'talosconfig'))).toContain(
      'code = InvalidArgument',
    );
  });

  it('reboots and waits for the node to be back', async () => {
    const text = await ctl('-n', addresses[1] ?? '', 'reboot', '--wait', '--timeout', '50s');
    expect(text).toContain('post check passed');
    await until(
      'etcd to be whole again',
      async () =>
        ((await ctl('etcd', 'members')).match(/false/g) ?? []).length === 2 && world.runner.node('two')?.ready,
    );
  });

  it('upgrades to another version', async () => {
    const image = /\S+nocloud-installer\S+:v/.exec(config)?.[0];
    const text = await ctl(
      '-n',
      addresses[1] ?? '',
      'upgrade',
      '--image',
      `${image}1.13.10`,
      '--drain=false',
      '--timeout',
      '50s',
    );
    expect(text).toContain('Exit code: 0');
    await until(
      'the new version',
      () => world.runner.node('two')?.version === '1.13.10' && world.runner.node('two')?.ready,
    );
  });

  it('resets a node, which leaves etcd', async () => {
    await ctl('-n', addresses[1] ?? '', 'reset', '--graceful', '--wait=false', '--reboot=false');
    await until('one member', async () => ((await ctl('etcd', 'members')).match(/:2379/g) ?? []).length === 1);
    await until('the machine to be off', () => world.runner.node('two')?.stage === 'off');
  });
});
