import { expect, it } from 'vitest';
import { consoleLinks } from './console-links.ts';

const config = { url: 'wss://nas.example:8443/api/current' };

it('a machine without a virtual machine has no console', () => {
  expect(consoleLinks(config, {})).toEqual([]);
});

it('the serial console is a page of the web interface of its system', () => {
  const page = 'https://nas.example:8443/ui/vm/7/serial';
  expect(consoleLinks(config, { vmId: 7 })).toEqual([{ name: 'Serial console', url: page }]);
});

it('a display is opened in the list of virtual machines', () => {
  expect(consoleLinks(config, { vmId: 7, display: true })[1]?.url).toBe('https://nas.example:8443/ui/vm');
});
