import { afterAll, beforeAll, expect, it } from 'vitest';
import { missingPeers } from '../../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../../support/describe-unless-missing.ts';
import { talosctl } from '../../../talos/talosctl.ts';
import { readPartition } from '../../../world/talos/boot/disk-partitions.ts';
import { waitUntilDefined } from './talos-test-bed.ts';
import {
  awaitInstalled,
  exampleSecretsBundle,
  renderProductConfig,
  renderProductTalosconfig,
  startTalosctlFixture,
  type TalosctlFixture,
} from './talosctl-fixture.ts';

describeUnlessMissing('the real talosctl on simulated nodes in maintenance mode', missingPeers('talosctl'), () => {
  let fixture: TalosctlFixture;
  let node = '';
  let old = '';
  let config = '';
  const on = (address: string, ...args: string[]) => ['--endpoints', address, '--nodes', address, ...args];
  const says = (...args: string[]) => fixture.says(...on(node, ...args), '--insecure');
  const fails = (...args: string[]) => fixture.fails(...on(node, ...args), '--insecure');
  const administrator = (...args: string[]) => on(node, '--talosconfig', 'talosconfig', ...args);
  const inStage = (stage: string) =>
    waitUntilDefined(stage, async () =>
      (await fixture.run(...on(node, 'get', 'machinestatus', '--insecure'))).text.includes(stage),
    );

  beforeAll(async () => {
    fixture = await startTalosctlFixture(talosctl ?? '');
    const bundle = await exampleSecretsBundle();
    node = fixture.start('free', (place) => {
      config = renderProductConfig(bundle, place);
      return '';
    });
    old = fixture.start('old', undefined, '1.12.11');
    fixture.file('talosconfig', await renderProductTalosconfig(bundle, node));
    fixture.file('config.yaml', config);
    await inStage('maintenance');
  });
  afterAll(() => fixture?.close());

  it('reads non-sensitive resources without a certificate', async () => {
    expect(await says('get', 'machinestatus')).toMatch(/machine +\d+ +maintenance +true/);
    expect(await says('get', 'links')).toMatch(/eth0 +\d+ +ether/);
    expect(await says('get', 'addresses')).toContain(`${node}/16`);
    expect(await says('get', 'disks')).toMatch(/vda +\d+ +11 GB/);
    expect(await says('version', '--short')).toContain('v1.13.9');
  });

  it('may neither read secrets nor change anything else', async () => {
    const denied = 'code = PermissionDenied desc = not authorized';
    expect(await fails('get', 'mc')).toContain(denied);
    expect(await fails('get', 'linkspecs')).toContain(denied);
    expect(await fails('reset', '--wait=false')).toContain(denied);
  });

  it('does not authenticate as a node of the cluster to a client of the cluster', async () => {
    const text = await fixture.fails(...administrator('version'));
    expect(text).toContain('x509: certificate signed by unknown authority');
  });

  it('reports on Talos 1.12 the methods that the maintenance service does not have', async () => {
    const asked = on(old, 'version', '--insecure');
    await waitUntilDefined(
      'the old node',
      async () => (await fixture.run(...on(old, 'get', 'disks', '--insecure'))).code === 0,
    );
    expect(await fixture.fails(...asked)).toContain(
      'code = Unimplemented desc = API is not implemented in maintenance mode',
    );
  });

  it('refuses a configuration with the reason, and dry-runs one without applying it', async () => {
    const wrong = fixture.file('wrong.yaml', config.replace('kubelet:', 'kubelett:'));
    expect(await fails('apply-config', '--file', wrong)).toContain('code = InvalidArgument');
    const dry = await says('apply-config', '--file', 'config.yaml', '--dry-run');
    expect(dry).toMatch(/Dry run summary:\nApplied configuration without a reboot \(skipped in dry-run\)/);
    expect(await says('get', 'machinestatus')).toContain('maintenance');
  });

  it('accepts a configuration, installs, and accepts only the administrator from then on', async () => {
    expect(await says('apply-config', '--file', 'config.yaml')).toContain('Applied configuration without a reboot');
    await awaitInstalled(fixture, 'free');
    await waitUntilDefined('the API', async () => (await fixture.run(...administrator('version'))).code === 0);
    // Depending on timing it reads the reason or is disconnected during the handshake.
    await waitUntilDefined('the refusal', async () => (await fails('version')).includes('tls: certificate required'));
    expect(await fixture.says(...administrator('get', 'systemdisk'))).toContain('vda');
  });

  it('returns to maintenance mode after a reset of its state, still installed', async () => {
    const labels = ['STATE', 'EPHEMERAL'].flatMap((label) => ['--system-labels-to-wipe', label]);
    const reset = administrator('reset', ...labels, '--reboot', '--graceful=false', '--wait=false');
    await fixture.says(...reset);
    await inStage('maintenance');
    const disk = fixture.world.runner.node('free')?.description.disks[0]?.path ?? '';
    expect((['META', 'STATE', 'EPHEMERAL'] as const).map((label) => readPartition(disk, label) !== undefined)).toEqual([
      true,
      false,
      false,
    ]);
    expect(await says('get', 'systemdisk')).toContain('vda');
    const state = await says('get', 'volumestatus', 'STATE', '-o', 'jsonpath={.spec.phase}');
    expect(state.trim()).toBe('missing');
  });
});
