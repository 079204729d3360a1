import type { NasDevice, NasState } from '../nas-state.ts';

/** All displays of all machines. */
export const displayDevices = (nas: NasState): NasDevice[] =>
  [...nas.devices.values()].filter(({ attributes }) => attributes['dtype'] === 'DISPLAY');

/** The ports of all displays but one; 6000 belongs to the middleware. */
export function takenPorts(nas: NasState, except: NasDevice | undefined): Set<unknown> {
  const others = displayDevices(nas).filter(({ id }) => id !== except?.id);
  return new Set([6000, ...others.flatMap(({ attributes }) => [attributes['port'], attributes['web_port']])]);
}

/** Whether another display uses one of its ports. */
export function sharesPort(nas: NasState, device: NasDevice): boolean {
  const taken = takenPorts(nas, device);
  return ['port', 'web_port'].some((key) => taken.has(device.attributes[key]));
}
