import { describe, expect, it } from 'vitest';
import { DhcpServer } from '../../world/network/dhcp-server.ts';

const mac = (number: number) => `02:00:00:00:00:0${number}`;
const network = { prefix: 24, gateway: '192.0.2.1' };
const addressFor = (server: DhcpServer, number: number) => server.offer(mac(number))?.address;

describe('a simulated DHCP server', () => {
  it('ignores a card without a reservation if there is no range', () => {
    const server = new DhcpServer({ ...network, reservations: { [mac(1)]: '192.0.2.20' } });
    expect(server.offer(mac(1).toUpperCase())).toEqual({ address: '192.0.2.20', ...network });
    expect(server.offer(mac(2))).toBeUndefined();
  });

  it('hands out a range until it is exhausted, the same address to the same card, and never a reserved address', () => {
    const server = new DhcpServer({
      ...network,
      range: '192.0.2.20-192.0.2.22',
      reservations: { [mac(9)]: '192.0.2.21' },
    });
    expect([1, 2, 1, 3].map((number) => addressFor(server, number))).toEqual([
      ...['192.0.2.20', '192.0.2.22', '192.0.2.20', undefined],
    ]);
  });

  it('offers a reservation that is added later on the next request', () => {
    const server = new DhcpServer({ ...network, range: '192.0.2.100-192.0.2.110' });
    expect(addressFor(server, 1)).toBe('192.0.2.100');
    server.reserve(mac(1), '192.0.2.20');
    expect(addressFor(server, 1)).toBe('192.0.2.20');
  });

  it('refuses an invalid configuration, and one address for two cards', () => {
    const server = new DhcpServer(network);
    expect(() => server.reserve('02:00', '192.0.2.20')).toThrow('no MAC address');
    expect(() => server.reserve(mac(1), '192.0.3.20')).toThrow('not in the subnet');
    server.reserve(mac(1), '192.0.2.20');
    expect(() => server.reserve(mac(2), '192.0.2.20')).toThrow(`reserved for ${mac(1)}`);
  });
});
