import {
  createdReply,
  emptyReply,
  okReply,
  type RobotEndpoint,
  serversOf,
  type WebserviceRequest,
} from '../endpoint.ts';
import { conflictRobotError, invalidInputError, notFoundRobotError } from '../errors.ts';
import { formText } from '../php-form.ts';
import { ownsAddress } from './addresses.ts';

const describe = (ip: string, ptr: string) => ({ rdns: { ip, ptr } });

function ipOfRequest(ask: WebserviceRequest): string {
  const ip = ask.params['ip'] ?? '';
  if (!ownsAddress(ask, ip)) throw notFoundRobotError('IP_NOT_FOUND', 'ip not found');
  return ip;
}

function pointerOfRequest(ask: WebserviceRequest): { ip: string; ptr: string } {
  const ip = ipOfRequest(ask);
  const ptr = ask.account.pointers.get(ip);
  if (ptr === undefined) throw notFoundRobotError('RDNS_NOT_FOUND', 'no reverse DNS entry');
  return { ip, ptr };
}

function pointerFromForm({ form }: WebserviceRequest): string {
  const ptr = formText(form, 'ptr');
  if (ptr === undefined) throw invalidInputError({ missing: ['ptr'] });
  if (!/^[a-z0-9._-]+$/i.test(ptr)) throw invalidInputError({ invalid: ['ptr'] });
  return ptr;
}

function put(ask: WebserviceRequest, mayExist: boolean) {
  const ip = ipOfRequest(ask);
  const ptr = pointerFromForm(ask);
  const exists = ask.account.pointers.has(ip);
  if (exists && !mayExist) throw conflictRobotError('RDNS_ALREADY_EXISTS', 'there is a reverse DNS entry already');
  ask.account.pointers.set(ip, ptr);
  return exists ? okReply(describe(ip, ptr)) : createdReply(describe(ip, ptr));
}

function list(ask: WebserviceRequest) {
  const serverIp = ask.query.get('server_ip');
  const server = serversOf(ask.robot, ask.account).find(({ address }) => address === serverIp);
  const entries = [...ask.account.pointers].filter(
    ([ip]) => serverIp === null || server?.ips.some((one) => one.ip === ip),
  );
  return okReply(entries.map(([ip, ptr]) => describe(ip, ptr)));
}

export const rdnsEndpoints: readonly RobotEndpoint[] = [
  { method: 'GET', path: '/rdns', group: 'rdns', handle: list },
  {
    method: 'GET',
    path: '/rdns/{ip}',
    group: 'rdns',
    handle: (ask) => {
      const { ip, ptr } = pointerOfRequest(ask);
      return okReply(describe(ip, ptr));
    },
  },
  { method: 'PUT', path: '/rdns/{ip}', group: 'rdns', handle: (ask) => put(ask, false) },
  { method: 'POST', path: '/rdns/{ip}', group: 'rdns', handle: (ask) => put(ask, true) },
  {
    method: 'DELETE',
    path: '/rdns/{ip}',
    group: 'rdns',
    handle: (ask) => {
      ask.account.pointers.delete(pointerOfRequest(ask).ip);
      return emptyReply;
    },
  },
];
