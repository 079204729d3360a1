import { describe, expect, it } from 'vitest';
import type { NodeHardware } from '../../../src/engine/node.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { reservedMac } from '../../../src/platforms/truenas/resources/identity.ts';
import { testedReleases } from './baseline-run.ts';
import {
  addressClaims,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

/** A run with addresses from a DHCP server, which records the input of machine configurations. */
class DhcpProcess extends TrueNasProviderProcess {
  readonly hardware = new Map<string, NodeHardware>();
  override context(...all: Parameters<TrueNasProviderProcess['context']>) {
    const context = super.context(...all);
    const claim = async () => {
      const { gateway: _, ...given } = await context.addresses.claim();
      return { ...given, assignment: 'DHCP' as const };
    };
    const machineConfig: typeof context.machineConfig = async (hardware) => {
      this.hardware.set(all[0], hardware);
      return await context.machineConfig(hardware);
    };
    return { ...context, addresses: { ...context.addresses, claim }, machineConfig };
  }
}

const provisionMachine = async (
  process: TrueNasProviderProcess,
  machine = 'shop-cp-0',
  durable: MachineRecord = { progress: undefined },
) => ({
  verdict: await process.walk('provision', machine, durable),
  durable,
});
const startedMacs = () => nasFixture.runner.started.map(({ nics }) => nics[0]?.mac);
const ownerOf = (process: TrueNasProviderProcess) => process.context('any', {}).owner;

describe('a machine on TrueNAS whose address comes from a DHCP server', () => {
  it.each(testedReleases)(
    'T39: has a MAC address that follows from its address, and requests a lease, on TrueNAS %s',
    async (version) => {
      await startTrueNasPlatformFixture({ version });
      const process = new DhcpProcess();
      const { verdict, durable } = await provisionMachine(process);
      expect(verdict).toMatchObject({ kind: 'finished' });
      const mac = reservedMac(ownerOf(process), '192.168.10.20');
      expect(startedMacs()).toEqual([mac]);
      expect(durable.progress?.facts).toMatchObject({ address: '192.168.10.20', prefix: 24, assignment: 'DHCP', mac });
      expect(process.hardware.get('shop-cp-0')?.links).toEqual([
        { mac, addresses: [], dhcp: { routeMetric: 1024 }, reserved: '192.168.10.20/24' },
      ]);
      const told = { ...process.context('shop-cp-0', durable.progress!.facts), host: undefined };
      const lines = await truenas.preview.machine({ ...told, hostedServers: () => new Set<string>() });
      expect(lines.map(({ subject }) => subject)).toContain(
        `network card ${mac} at br0, address 192.168.10.20/24 by DHCP, reserved for it`,
      );
    },
  );

  it('T39, T16: releases its MAC address to the next machine with its address, and to no other before', async () => {
    await startTrueNasPlatformFixture();
    const process = new DhcpProcess();
    const first = await provisionMachine(process, 'shop-cp-0');
    await provisionMachine(process, 'shop-cp-1');
    expect(new Set(startedMacs()).size).toBe(2);
    await process.walk('release', 'shop-cp-0', first.durable);
    // The fixture counts its claims: the next one is that of the only remaining machine.
    addressClaims.set('other-cp-0', '192.168.10.20');
    expect((await provisionMachine(process, 'other-cp-0')).verdict).toMatchObject({ kind: 'finished' });
    expect(startedMacs()[2]).toBe(startedMacs()[0]);
    // An address was released although its machine exists, for example by deletion of a Machine by force.
    addressClaims.set('late-cp-0', '192.168.10.20');
    expect((await provisionMachine(process, 'late-cp-0')).verdict).toMatchObject({
      kind: 'failed',
      reason: 'MacTaken',
    });
  });

  it('T39: stays unchanged when the ProviderConfig changes meanwhile', async () => {
    await startTrueNasPlatformFixture();
    const reserved: MachineRecord = { progress: undefined };
    const fixed: MachineRecord = { progress: undefined };
    const [told, usual] = [new DhcpProcess(), new TrueNasProviderProcess()];
    const untilMade = async (process: TrueNasProviderProcess, machine: string, durable: MachineRecord) => {
      nasFixture.switchboard.fail('truenas', /^vm\.create$/, { kind: 'drop' });
      await process.walk('provision', machine, durable, {}, ({ kind }) => kind === 'error');
    };
    await untilMade(told, 'shop-cp-0', reserved);
    await untilMade(usual, 'shop-cp-1', fixed);
    const macs = [reserved, fixed].map(({ progress }) => progress?.facts['mac']);
    expect((await provisionMachine(usual, 'shop-cp-0', reserved)).verdict).toMatchObject({ kind: 'finished' });
    expect((await provisionMachine(told, 'shop-cp-1', fixed)).verdict).toMatchObject({ kind: 'finished' });
    expect(startedMacs()).toEqual(macs);
    expect(fixed.progress?.facts).toMatchObject({ gateway: '192.168.10.1' });
    expect(fixed.progress?.facts).not.toHaveProperty('assignment');
  });
});
