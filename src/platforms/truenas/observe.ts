import type { Observation } from '../../engine/platform.ts';
import type { Vm } from './schema.ts';
import { type Context, findVm, type System, systemOf } from './system.ts';

/** What has become of a machine. One call, which changes nothing. */
export async function observe(context: Context): Promise<Observation> {
  const system = systemOf(context);
  const { own: vm } = await findVm(system);
  if (!vm) return { exists: false };
  const drift = describeDrift(vm, system, context.config.bridge);
  return { exists: true, ...poweredOf(vm), ...(drift ? { drift } : {}) };
}

/** Of a machine that is neither on nor off, what it is instead stands in its drift. */
const poweredOf = ({ status: { state } }: Vm): Pick<Observation, 'powered'> =>
  state === 'RUNNING' ? { powered: 'on' } : state === 'STOPPED' ? { powered: 'off' } : {};

function describeDrift(vm: Vm, { identity }: System, bridge: string): string | undefined {
  const said: string[] = [];
  const { state } = vm.status;
  if (state === 'SUSPENDED') said.push('The virtual machine is suspended.');
  else if (!['RUNNING', 'STOPPED'].includes(state))
    said.push(`TrueNAS cannot tell the state of the virtual machine (${state}).`);
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
