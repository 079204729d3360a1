import { isIP } from 'node:net';
import { type Fields, fieldAt, fieldsAt, listAt, textAt } from './fields.ts';

/** The rules of `machine.network`. */
export function networkErrors(network: Fields, control: boolean): string[] {
  return listAt(network, 'interfaces').flatMap((device) => deviceErrors(device, control));
}

function deviceErrors(device: unknown, control: boolean): string[] {
  if (fieldAt(device, 'ignore') === true) return [];
  const name = textAt(device, 'interface');
  const selector = fieldAt(device, 'deviceSelector');
  const both = '[networking.os.device.interface], [networking.os.device.deviceSelector]';
  const errors: string[] = [];
  if (name === '' && !selector) errors.push(`${both}: required either config section to be set`);
  if (name !== '' && selector) errors.push(`${both}: config sections are mutually exclusive`);
  if (selector && Object.keys(fieldsAt(device, 'deviceSelector')).length === 0) {
    errors.push('[networking.os.device.deviceSelector]: config section should contain at least one field');
  }
  errors.push(...addressErrors(device, name, 'networking.os.device'), ...routeErrors(device));
  for (const vlan of listAt(device, 'vlans')) {
    errors.push(...addressErrors(vlan, `${name}.${textAt(vlan, 'vlanId')}`, 'networking.os.device.vlan'));
  }
  const shared = [device, ...listAt(device, 'vlans')].filter((one) => fieldAt(one, 'vip') !== undefined);
  for (const one of shared) {
    if (!control) errors.push('virtual (shared) IP is not allowed on non-controlplane nodes');
    const ip = textAt(one, 'vip.ip');
    if (isIP(ip) === 0) errors.push(`[networking.os.device.vip] failed to parse "${ip}" as IP address`);
  }
  return errors;
}

function addressErrors(holder: unknown, name: string, place: string): string[] {
  const addresses = listAt(holder, 'addresses').map(String);
  const legacy = textAt(holder, 'cidr');
  const errors: string[] = [];
  if (legacy !== '' && addresses.length > 0) {
    errors.push(`[${place}] "${name}": interface can't have both .cidr and .addresses set`);
  }
  for (const address of [...addresses, ...(legacy ? [legacy] : [])]) {
    if (isAddressOrSubnet(address)) continue;
    const reason = address.includes('/')
      ? `invalid CIDR address: ${address}`
      : `failed to parse IP address "${address}"`;
    errors.push(`[${place}.addresses] "${name}": ${reason}`);
  }
  return errors;
}

function routeErrors(device: unknown): string[] {
  return listAt(device, 'routes').flatMap((route, index) => {
    const place = `networking.os.device.route[${index}]`;
    const network = textAt(route, 'network');
    const gateway = textAt(route, 'gateway');
    const errors: string[] = [];
    if (network !== '' && !isSubnet(network)) errors.push(`[${place}.network] "${network}": invalid network address`);
    if (gateway !== '' && isIP(gateway) === 0) errors.push(`[${place}.gateway] "${gateway}": invalid network address`);
    if (network === '' && gateway === '') errors.push(`[${place}]: either network or gateway should be set`);
    return errors;
  });
}

export function isSubnet(text: string): boolean {
  const [ip = '', bits, more] = text.split('/');
  const family = isIP(ip);
  return more === undefined && family !== 0 && /^\d+$/.test(bits ?? '') && Number(bits) <= (family === 4 ? 32 : 128);
}

export const isAddressOrSubnet = (text: string): boolean => isIP(text) !== 0 || isSubnet(text);
