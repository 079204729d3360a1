import type { ArgumentErrors } from '../../middleware/errors.ts';
import type { ApiMethod } from '../../middleware/method.ts';
import { defaultedField, literalModel, objectModel, textModel } from '../../middleware/parameter-model.ts';
import type { Entry } from '../../middleware/query.ts';
import type { NasDevice, NasState, NasVm } from '../../nas-state.ts';
import { displayDevices, takenPorts } from '../display-ports.ts';
import { vmIdParameter, vmReadRoles } from '../vm-parameters.ts';
import { describeDevice, devicesOf } from '../vm-runtime.ts';
import { displayResolutions } from './device-parameters.ts';

const webOptions = objectModel({ protocol: defaultedField(literalModel('HTTP', 'HTTPS'), 'HTTP') });

/** Displays of machines: their choices, the existing ones, and their URL for a browser. */
export const displayMethods: readonly ApiMethod[] = [
  { name: 'vm.port_wizard', parameters: [], access: vmReadRoles, run: (_, { nas }) => freePorts(nas, undefined) },
  {
    name: 'vm.resolution_choices',
    parameters: [],
    access: vmReadRoles,
    run: () => Object.fromEntries(displayResolutions.map((one) => [one, one])),
  },
  {
    name: 'vm.get_display_devices',
    parameters: [vmIdParameter],
    access: vmReadRoles,
    run: ([id], { nas }) =>
      displayDevices(nas)
        .filter(({ vm }) => vm === id)
        .map((device) => {
          const shown = describeDevice(device);
          const attributes = shown['attributes'] as Entry;
          return { ...shown, attributes: { ...attributes, password_configured: Boolean(attributes['password']) } };
        }),
  },
  {
    name: 'vm.get_display_web_uri',
    parameters: [
      vmIdParameter,
      { name: 'host', field: defaultedField(textModel(), '') },
      { name: 'options', field: defaultedField(webOptions, { protocol: 'HTTP' }) },
    ],
    access: vmReadRoles,
    run: ([id, host, options], { nas }) => webUri(nas, id, String(host), (options as { protocol: string }).protocol),
  },
];

function webUri(nas: NasState, id: unknown, given: string, protocol: string): Entry {
  const own = displayDevices(nas).filter(({ vm }) => vm === id);
  const shown = own.find(({ attributes }) => attributes['web'] === true);
  if (!shown) {
    const error = own.length > 0 ? 'Web display is not configured' : 'Display device is not configured for this VM';
    return { error, uri: null };
  }
  const address = [...nas.links.values()].find((link) => link.address !== null)?.address?.split('/')[0];
  const path = `vm/display/${shown.id}/`;
  const query = `path=${encodeURIComponent(path)}&autoconnect=1`;
  const uri = `${protocol.toLowerCase()}://${given || address}/${path}spice_auto.html?${query}`;
  return { error: null, uri };
}

/** The next two unused ports; 6000 belongs to the middleware. */
function freePorts(nas: NasState, except: NasDevice | undefined): { port: number; web: number } {
  const taken = takenPorts(nas, except);
  const free = Array.from({ length: taken.size + 2 }, (_, index) => 5900 + index).filter((port) => !taken.has(port));
  return { port: free[0] ?? 0, web: free[1] ?? 0 };
}

/** Validates a display, and assigns the ports that it does not name. */
export function validateDisplay(refusals: ArgumentErrors, nas: NasState, vm: NasVm, device: NasDevice): void {
  const { attributes } = device;
  const others = devicesOf(nas, vm).filter((one) => one.id !== device.id && one.attributes['dtype'] === 'DISPLAY');
  if (others.some((one) => one.attributes['type'] === attributes['type'])) {
    refusals.add('attributes.type', `Only one ${attributes['type']} Display device is supported`);
  }
  const password = String(attributes['password'] ?? '');
  if (!password.trim()) refusals.add('attributes.password', 'Password is required for display devices');
  if (attributes['type'] === 'VNC' && attributes['web'] === true) {
    refusals.add('attributes.web', 'Web access is not supported for VNC display devices, please use SPICE instead');
  }
  if (attributes['type'] === 'VNC' && password.length > 8) {
    refusals.add('attributes.password', 'Password for VNC display devices must be 8 characters or less');
  }
  checkPorts(refusals, nas, device);
}

function checkPorts(refusals: ArgumentErrors, nas: NasState, device: NasDevice): void {
  const { attributes } = device;
  const taken = takenPorts(nas, device);
  const offered = Object.values(freePorts(nas, device)).filter(
    (port) => port !== attributes['port'] && port !== attributes['web_port'],
  );
  for (const key of ['port', 'web_port']) {
    const port = Number(attributes[key] ?? 0);
    if (port === 0) {
      attributes[key] = offered.shift();
      continue;
    }
    if (port < 5900 || port > 65535) {
      refusals.add(`attributes.${key}`, 'Specified port must be between 5900 and 65535, inclusive');
    }
    if (taken.has(port)) {
      const message = `Specified display port(${port}) is already in use by another Display device`;
      refusals.add(`attributes.${key}`, message);
    }
  }
}
