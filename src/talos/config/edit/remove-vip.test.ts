import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { exampleConfigInput, exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import type { SecretsBundle } from '../../secrets/secrets-bundle.ts';
import { type MachineConfigInput, renderMachineConfig } from '../machine-config.ts';
import { isSameConfig } from './config-yaml.ts';
import { removeVip } from './remove-vip.ts';

const vip = '192.0.2.10';
let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});
const render = (changes: Partial<MachineConfigInput>): SecretString =>
  renderMachineConfig(exampleConfigInput(bundle, changes));
const read = (config: SecretString | undefined) =>
  parseAllDocuments(config?.reveal() ?? '').map((document) => document.toJS());

describe.each(['1.13.9', '1.14.0'])('a control plane with Talos %s', (talosVersion) => {
  it('removes the shared address and keeps all other values', () => {
    const config = render({ talosVersion, vip });
    const [main] = read(config);
    expect(main.machine.network.interfaces[0].vip).toEqual({ ip: vip });
    delete main.machine.network.interfaces[0].vip;
    expect(read(removeVip(config, vip))).toEqual([main, ...read(config).slice(1)]);
  });

  it('removes it on the private network, too', () => {
    const { hardware } = exampleConfigInput(bundle);
    const links = hardware.links.map((link) => ({ ...link, vlan: { id: 4000, addresses: ['192.0.2.21/24'] } }));
    const config = render({ talosVersion, vip, hardware: { ...hardware, links } });
    const [main] = read(config);
    const [link] = main.machine.network.interfaces;
    expect(link.vlans[0].vip).toEqual({ ip: vip });
    delete link.vlans[0].vip;
    expect(read(removeVip(config, vip))).toEqual([main, ...read(config).slice(1)]);
  });

  it('needs no change when it has no shared address, or another one', () => {
    const { vip: _none, ...without } = exampleConfigInput(bundle, { talosVersion });
    expect(removeVip(renderMachineConfig(without), vip)).toBeUndefined();
    expect(removeVip(render({ talosVersion, vip: '192.0.2.11' }), vip)).toBeUndefined();
  });

  it('is compared by content, regardless of the format', () => {
    const [one, other] = [render({ talosVersion, vip }), render({ talosVersion })];
    const without = removeVip(one, vip);
    expect(without && isSameConfig(without, without)).toBe(true);
    expect(without && isSameConfig(one, without)).toBe(false);
    expect(isSameConfig(other, other)).toBe(true);
  });
});
