import { expect, it } from 'vitest';
import { reservationForms } from './describe-reservations.ts';

const two = [
  { mac: '02:aa:00:00:00:01', address: '192.168.10.20' },
  { mac: '02:aa:00:00:00:02', address: '192.168.10.121' },
];

it('T39: reservations are written as each DHCP server reads them', () => {
  expect(reservationForms.text(two)).toBe('192.168.10.20    02:aa:00:00:00:01\n192.168.10.121   02:aa:00:00:00:02');
  expect(reservationForms.dnsmasq(two).split('\n')).toEqual([
    'dhcp-host=02:aa:00:00:00:01,192.168.10.20',
    'dhcp-host=02:aa:00:00:00:02,192.168.10.121',
  ]);
  expect(reservationForms.isc(two).split('\n')[1]).toBe(
    'host talos-192-168-10-121 { hardware ethernet 02:aa:00:00:00:02; fixed-address 192.168.10.121; }',
  );
  expect(JSON.parse(reservationForms.kea(two))).toEqual([
    { 'hw-address': '02:aa:00:00:00:01', 'ip-address': '192.168.10.20' },
    { 'hw-address': '02:aa:00:00:00:02', 'ip-address': '192.168.10.121' },
  ]);
});
