import type { Device, Nas } from './nas.ts';

/** All displays of all machines. */
export const displays = (nas: Nas): Device[] =>
  [...nas.devices.values()].filter(({ attributes }) => attributes['dtype'] === 'DISPLAY');

/** The ports of all displays but one; 6000 belongs to the middleware. */
export function portsTaken(nas: Nas, except: Device | undefined): Set<unknown> {
  const others = displays(nas).filter(({ id }) => id !== except?.id);
  return new Set([6000, ...others.flatMap(({ attributes }) => [attributes['port'], attributes['web_port']])]);
}

/** Whether another display has one of its ports. */
export function sharesPort(nas: Nas, device: Device): boolean {
  const taken = portsTaken(nas, device);
  return ['port', 'web_port'].some((key) => taken.has(device.attributes[key]));
}
