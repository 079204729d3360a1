import type { Observation } from '../../engine/platform.ts';
import type { Vm } from './schema.ts';
import { type Context, findVm, type System, systemOf } from './system.ts';

/** What has become of a machine. One call, which changes nothing. */
export async function observe(context: Context): Promise<Observation> {
  const system = systemOf(context);
  const { own: vm } = await findVm(system);
  if (!vm) return { exists: false };
  const drift = describeDrift(vm, system, context.config.bridge);
  return { exists: true, powered: vm.status.state === 'RUNNING' ? 'on' : 'off', ...(drift ? { drift } : {}) };
}

function describeDrift(vm: Vm, { identity }: System, bridge: string): string | undefined {
  const said: string[] = [];
  if (vm.status.state === 'ERROR') said.push('TrueNAS cannot tell the state of the virtual machine.');
  if (vm.status.state === 'SUSPENDED') said.push('The virtual machine is suspended.');
  if (vm.name !== identity.vmName) said.push(`The virtual machine was renamed from ${identity.vmName} to ${vm.name}.`);
  const disk = `/dev/zvol/${identity.zvol}`;
  if (!vm.devices.some(({ attributes }) => attributes.path === disk)) said.push('Its boot disk is not attached.');
  const card = vm.devices.find(({ attributes }) => attributes.mac?.toLowerCase() === identity.mac);
  if (!card) said.push('Its network card is missing or has another MAC address.');
  else if (card.attributes.nic_attach !== bridge) {
    said.push(`Its network card is attached to ${card.attributes.nic_attach ?? 'nothing'} and not to ${bridge}.`);
  }
  return said.length > 0 ? said.join(' ') : undefined;
}
