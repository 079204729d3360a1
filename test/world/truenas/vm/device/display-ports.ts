import type { ArgumentErrors } from '../../middleware/errors.ts';
import type { NasDevice, NasState, NasVm } from '../../nas-state.ts';

/** The ports of all displays but one; 6000 belongs to the middleware. */
function takenPorts(nas: NasState, except: NasDevice): Set<unknown> {
  const others = [...nas.devices.values()].filter(
    ({ id, attributes }) => attributes['dtype'] === 'DISPLAY' && id !== except.id,
  );
  return new Set([6000, ...others.flatMap(({ attributes }) => [attributes['port'], attributes['web_port']])]);
}

/** Whether another display uses one of its ports. */
export function sharesPort(nas: NasState, device: NasDevice): boolean {
  const taken = takenPorts(nas, device);
  return ['port', 'web_port'].some((key) => taken.has(device.attributes[key]));
}

/** Validates a display, and assigns the ports that it does not name. */
export function validateDisplay(rejections: ArgumentErrors, nas: NasState, vm: NasVm, device: NasDevice): void {
  const { attributes } = device;
  const others = [...nas.devices.values()].filter(
    (one) => one.vm === vm.id && one.id !== device.id && one.attributes['dtype'] === 'DISPLAY',
  );
  if (others.some((one) => one.attributes['type'] === attributes['type'])) {
    rejections.add('attributes.type', `Only one ${attributes['type']} Display device is supported`);
  }
  const password = String(attributes['password'] ?? '');
  if (!password.trim()) rejections.add('attributes.password', 'Password is required for display devices');
  if (attributes['type'] === 'VNC' && attributes['web'] === true) {
    rejections.add('attributes.web', 'Web access is not supported for VNC display devices, please use SPICE instead');
  }
  if (attributes['type'] === 'VNC' && password.length > 8) {
    rejections.add('attributes.password', 'Password for VNC display devices must be 8 characters or less');
  }
  checkPorts(rejections, nas, device);
}

function checkPorts(rejections: ArgumentErrors, nas: NasState, device: NasDevice): void {
  const { attributes } = device;
  const taken = takenPorts(nas, device);
  // The next two unused ports.
  const offered = Array.from({ length: taken.size + 2 }, (_, index) => 5900 + index)
    .filter((port) => !taken.has(port))
    .slice(0, 2)
    .filter((port) => port !== attributes['port'] && port !== attributes['web_port']);
  for (const key of ['port', 'web_port']) {
    const port = Number(attributes[key] ?? 0);
    if (port === 0) {
      attributes[key] = offered.shift();
      continue;
    }
    if (port < 5900 || port > 65535) {
      rejections.add(`attributes.${key}`, 'Specified port must be between 5900 and 65535, inclusive');
    }
    if (taken.has(port)) {
      const message = `Specified display port(${port}) is already in use by another Display device`;
      rejections.add(`attributes.${key}`, message);
    }
  }
}
