import { describe, expect, it } from 'vitest';
import type { NodeHardware } from '../../../src/engine/node.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { testedReleases } from './baseline-run.ts';
import { MemberFixture, provisionMember } from './member-fixture.ts';
import {
  checkPlatformConfig,
  type MachineRecord,
  nasFixture,
  platformConfig,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const specWithCards = (cards: readonly object[], more: object = {}) => ({
  sizes: [{ ...platformConfig().sizes[0], cards }],
  ...more,
});
const bridges = { bridges: ['br0', 'br1'], interfaces: [{ name: 'vlan50', type: 'VLAN', mtu: 9000 }] };
const attachedCards = () => nasFixture.runner.started.at(-1)?.nics.map(({ bridge, model }) => [bridge, model]);

/** Records the input of the machine configuration. */
class HardwareRecordingProcess extends TrueNasProviderProcess {
  hardware: NodeHardware | undefined;
  override context(...all: Parameters<TrueNasProviderProcess['context']>) {
    const context = super.context(...all);
    const machineConfig: typeof context.machineConfig = async (hardware) => {
      this.hardware = hardware;
      return await context.machineConfig(hardware);
    };
    return { ...context, machineConfig };
  }
}

describe('network cards of a machine on TrueNAS', () => {
  it.each(testedReleases)('T36, S18: have the number in its size, on TrueNAS %s', async (version) => {
    await startTrueNasPlatformFixture({ version, seed: bridges });
    const change = specWithCards([{ bridge: 'br1' }, { bridge: 'vlan50', mtu: 9000, dhcp: false }], { mtu: 1400 });
    const process = new HardwareRecordingProcess();
    const durable: MachineRecord = { progress: undefined };
    expect(await process.walk('provision', 'shop-cp-0', durable, change)).toMatchObject({ kind: 'finished' });
    expect(attachedCards()).toEqual(['br0', 'br1', 'vlan50'].map((bridge) => [bridge, 'virtio']));
    const macs = nasFixture.runner.started[0]?.nics.map(({ mac }) => mac);
    expect(process.hardware?.links).toEqual([
      { mac: macs?.[0], addresses: ['192.168.10.20/24'], gateway: '192.168.10.1', mtu: 1400 },
      { mac: macs?.[1], addresses: [], dhcp: { routeMetric: 2048 } },
      { mac: macs?.[2], addresses: [], dhcp: false, mtu: 9000 },
    ]);
    const told = { ...process.context('shop-cp-0', durable.progress!.facts, change), host: undefined };
    const lines = await truenas.preview.machine({ ...told, hostedServers: () => new Set<string>() });
    expect(lines.slice(4).map(({ subject }) => subject)).toEqual([
      `network card ${macs?.[1]} at br1, address by DHCP`,
      `network card ${macs?.[2]} at vlan50, no address`,
    ]);
    expect(await process.walk('release', 'shop-cp-0', durable, change)).toMatchObject({ kind: 'finished' });
  });

  it('T36: stay unchanged when the size changes meanwhile', async () => {
    await startTrueNasPlatformFixture({ seed: bridges });
    const durable: MachineRecord = { progress: undefined };
    const process = new TrueNasProviderProcess();
    const before = specWithCards([{ bridge: 'br1' }]);
    nasFixture.switchboard.fail('truenas', /^vm\.create$/, { kind: 'drop' });
    await process.walk('provision', 'shop-cp-0', durable, before, ({ kind }) => kind === 'error');
    await process.walk('provision', 'shop-cp-0', durable, specWithCards([{ bridge: 'vlan50' }, { bridge: 'br1' }]));
    expect(attachedCards()).toEqual(['br0', 'br1'].map((bridge) => [bridge, 'virtio']));
  });

  it('T16: have MAC addresses that are unique on the system, or nothing is created', async () => {
    await startTrueNasPlatformFixture({ seed: bridges });
    const change = specWithCards([{ bridge: 'br1' }]);
    const warmUp: MachineRecord = { progress: undefined };
    await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', warmUp, change);
    const mac = nasFixture.runner.started[0]?.nics[1]?.mac;
    await new TrueNasProviderProcess().walk('release', 'shop-cp-0', warmUp, change);
    const client = await nasFixture.login();
    const other = await client.call('vm.create', { name: 'other', memory: 1024 });
    const attributes = { dtype: 'NIC', mac: mac?.toUpperCase(), nic_attach: 'br0' };
    const card = await client.call('vm.device.create', { vm: other.id, attributes });
    const durable: MachineRecord = { progress: undefined };
    const process = new TrueNasProviderProcess();
    expect(await process.walk('provision', 'shop-cp-0', durable, change)).toMatchObject({
      ...{ kind: 'failed', reason: 'MacTaken' },
      message: expect.stringMatching(new RegExp(`number ${other.id} on .* card with the MAC address ${mac}`, 'i')),
    });
    expect(nasFixture.simulator.nas.vms.size).toBe(1);
    await client.call('vm.device.delete', card.id);
    expect(await process.walk('provision', 'shop-cp-0', durable, change)).toMatchObject({ kind: 'finished' });
  });

  it('T42: are reported when one is gone or moved, and are repaired after approval', async () => {
    await startTrueNasPlatformFixture({ seed: bridges });
    const change = specWithCards([{ bridge: 'br1' }]);
    const kept = new MemberFixture(await provisionMember(change), {}, change);
    const name = String(vmOf('shop-cp-0')?.row['name']);
    const second = (one: Record<string, unknown>): boolean => one['nic_attach'] === 'br1';
    await nasFixture.simulator.loseDevice(name, second);
    const told = await kept.rest();
    expect(told).toMatchObject({
      reasons: ['DeviceMissing'],
      words: expect.stringMatching(/^The network card 2 at br1/),
    });
    kept.wish({ approve: 'DeviceMissing' });
    expect(await kept.rest()).toMatchObject({ reasons: [] });
    expect(nasFixture.runner.started.at(-1)?.nics).toHaveLength(2);
    for (const { attributes } of nasFixture.simulator.nas.devices.values())
      if (attributes['nic_attach'] === 'br1') Object.assign(attributes, { nic_attach: 'br0' });
    kept.process = new TrueNasProviderProcess();
    expect(await kept.rest()).toMatchObject({
      reasons: ['CardMoved'],
      words: expect.stringContaining('network card 2'),
    });
    kept.wish({ approve: 'CardMoved' });
    expect(await kept.rest()).toMatchObject({ reasons: [] });
    const cards = [...nasFixture.simulator.nas.devices.values()].flatMap(
      ({ attributes }) => attributes['nic_attach'] ?? [],
    );
    expect(cards).toEqual(['br0', 'br1']);
  });

  it('T36: are checked first: missing interfaces, and an insufficient MTU', async () => {
    await startTrueNasPlatformFixture({ seed: bridges });
    const change = specWithCards([{ bridge: 'br7' }, { bridge: 'vlan50', mtu: 9000 }, { bridge: 'br1', mtu: 9000 }], {
      mtu: 1600,
    });
    const found = (await checkPlatformConfig(new TrueNasProviderProcess(), change)).filter(({ advice }) => !advice);
    expect(found.map(({ field, reason }) => [field, reason])).toEqual([
      ['truenas.mtu', 'MtuTooLarge'],
      ['truenas.sizes[0].cards[0].bridge', 'BridgeUnknown'],
      ['truenas.sizes[0].cards[2].mtu', 'MtuTooLarge'],
    ]);
    expect(found[2]?.message).toMatch(/^br1 on .* has the MTU 1500, and the nodes would use 9000\./);
  });

  it.each(testedReleases)(
    'S46: at an interface that is no bridge are accepted, and reported, on TrueNAS %s',
    async (version) => {
      await startTrueNasPlatformFixture({ version, seed: bridges });
      expect(
        await checkPlatformConfig(
          new TrueNasProviderProcess(),
          specWithCards([{ bridge: 'br1' }], { bridge: 'vlan50' }),
        ),
      ).toEqual([
        {
          ...{ field: 'truenas.bridge', reason: 'NoBridge', advice: true },
          message: expect.stringMatching(/^vlan50 is not a bridge: /),
        },
      ]);
      expect(
        await checkPlatformConfig(new TrueNasProviderProcess(), specWithCards([{ bridge: 'vlan50' }])),
      ).toMatchObject([{ field: 'truenas.sizes[0].cards[0].bridge', reason: 'NoBridge' }]);
    },
  );
});
