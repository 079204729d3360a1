import { expect, it } from 'vitest';
import { reservationFormats } from './reservation-formats.ts';

const two = [
  { mac: '02:aa:00:00:00:01', address: '192.168.10.20' },
  { mac: '02:aa:00:00:00:02', address: '192.168.10.121' },
];

it('T39: reservations are written in the format of each DHCP server', () => {
  expect(reservationFormats.text(two)).toBe('192.168.10.20    02:aa:00:00:00:01\n192.168.10.121   02:aa:00:00:00:02');
  expect(reservationFormats.dnsmasq(two).split('\n')).toEqual([
    'dhcp-host=02:aa:00:00:00:01,192.168.10.20',
    'dhcp-host=02:aa:00:00:00:02,192.168.10.121',
  ]);
  expect(reservationFormats.isc(two).split('\n')[1]).toBe(
    'host talos-192-168-10-121 { hardware ethernet 02:aa:00:00:00:02; fixed-address 192.168.10.121; }',
  );
  expect(JSON.parse(reservationFormats.kea(two))).toEqual([
    { 'hw-address': '02:aa:00:00:00:01', 'ip-address': '192.168.10.20' },
    { 'hw-address': '02:aa:00:00:00:02', 'ip-address': '192.168.10.121' },
  ]);
});
