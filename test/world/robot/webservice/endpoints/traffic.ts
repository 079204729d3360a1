import { okReply, type RobotEndpoint } from '../endpoint.ts';
import { invalidInputError } from '../errors.ts';
import { formText, formTexts } from '../php-form.ts';
import { ownsAddress } from './addresses.ts';

/** The format of dates, by type. */
const dates: Readonly<Record<string, RegExp>> = {
  day: /^\d{4}-\d{2}-\d{2}T\d{2}$/,
  month: /^\d{4}-\d{2}-\d{2}$/,
  year: /^\d{4}-\d{2}$/,
};

/** Traffic is not simulated. */
const noTraffic = { in: 0, out: 0, sum: 0 };

export const trafficEndpoints: readonly RobotEndpoint[] = [
  {
    method: 'POST',
    path: '/traffic',
    group: 'traffic',
    handle: (ask) => {
      const { form } = ask;
      const [type, from, to] = ['type', 'from', 'to'].map((name) => formText(form, name));
      const missing = Object.entries({ type, from, to }).flatMap(([name, value]) =>
        value === undefined ? [name] : [],
      );
      if (missing.length > 0) throw invalidInputError({ missing });
      const form_ = dates[type ?? ''];
      const invalid = form_
        ? Object.entries({ from, to }).flatMap(([name, value]) => (form_.test(value ?? '') ? [] : [name]))
        : ['type'];
      const addresses = [...formTexts(form, 'ip'), ...formTexts(form, 'subnet')];
      if (!addresses.every((ip) => ownsAddress(ask, ip))) invalid.push('ip');
      if (invalid.length > 0) throw invalidInputError({ invalid });
      const data = Object.fromEntries(addresses.map((ip) => [ip, noTraffic]));
      return okReply({ traffic: { type, from, to, data } });
    },
  },
];
