import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { exampleBundle, exampleInput } from '../../../test/talos/example.ts';
import type { Secret } from '../../lib/secret.ts';
import { type MachineConfigInput, renderMachineConfig } from '../machine-config.ts';
import type { SecretsBundle } from '../secrets.ts';
import { sameConfig } from './edit.ts';
import { withoutSharedAddress } from './without-shared-address.ts';

const vip = '192.0.2.10';
let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleBundle();
});
const render = (changes: Partial<MachineConfigInput>): Secret => renderMachineConfig(exampleInput(bundle, changes));
const read = (config: Secret | undefined) =>
  parseAllDocuments(config?.reveal() ?? '').map((document) => document.toJS());

describe.each(['1.13.9', '1.14.0'])('a control plane with Talos %s', (talosVersion) => {
  it('gives the shared address up and keeps everything else as it was', () => {
    const config = render({ talosVersion, vip });
    const [main] = read(config);
    expect(main.machine.network.interfaces[0].vip).toEqual({ ip: vip });
    delete main.machine.network.interfaces[0].vip;
    expect(read(withoutSharedAddress(config, vip))).toEqual([main, ...read(config).slice(1)]);
  });

  it('gives it up on the private network, too', () => {
    const { hardware } = exampleInput(bundle);
    const links = hardware.links.map((link) => ({ ...link, vlan: { id: 4000, addresses: ['192.0.2.21/24'] } }));
    const config = render({ talosVersion, vip, hardware: { ...hardware, links } });
    const [main] = read(config);
    const [link] = main.machine.network.interfaces;
    expect(link.vlans[0].vip).toEqual({ ip: vip });
    delete link.vlans[0].vip;
    expect(read(withoutSharedAddress(config, vip))).toEqual([main, ...read(config).slice(1)]);
  });

  it('has nothing to give up when it has no shared address, or another', () => {
    const { vip: _none, ...without } = exampleInput(bundle, { talosVersion });
    expect(withoutSharedAddress(renderMachineConfig(without), vip)).toBeUndefined();
    expect(withoutSharedAddress(render({ talosVersion, vip: '192.0.2.11' }), vip)).toBeUndefined();
  });

  it('is known again by what it says, however that is written', () => {
    const [one, other] = [render({ talosVersion, vip }), render({ talosVersion })];
    const without = withoutSharedAddress(one, vip);
    expect(without && sameConfig(without, without)).toBe(true);
    expect(without && sameConfig(one, without)).toBe(false);
    expect(sameConfig(other, other)).toBe(true);
  });
});
