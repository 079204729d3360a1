import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSmartHealth } from './smart-health.ts';

const attribute = (id: number, name: string, raw: string, more: object = {}) => ({
  ...{ id, name, value: 100, worst: 100, thresh: 10, when_failed: '' },
  flags: { value: 51, string: 'PO--CK ', prefailure: true, updated_online: true },
  raw: { value: Number.parseInt(raw, 10), string: raw },
  ...more,
});
const ata = (passed: boolean, ...table: object[]) => ({
  smart_status: { passed },
  ata_smart_attributes: { revision: 16, table },
  power_on_time: { hours: 31416, minutes: 12 },
});
const nvme = (warning: number, more: object = {}) => ({
  smart_status: { passed: warning === 0, nvme: { value: warning } },
  nvme_smart_health_information_log: { critical_warning: warning, percentage_used: 3, media_errors: 0, ...more },
});
const moved = (raw: string, more?: object) => attribute(5, 'Reallocated_Sector_Ct', raw, more);

describe('the output of smartctl', () => {
  it.each<[string, object, string, string | RegExp]>([
    ['a SATA disk that is well', ata(true, moved('0')), 'Passed', ''],
    [
      'one with sectors that were reallocated',
      ata(true, moved('8 (2000 0)'), attribute(197, 'Current_Pending_Sector', '2')),
      'Passed',
      '8 sectors were reallocated, 2 sectors are pending reallocation',
    ],
    ['one that expects to fail', ata(false, moved('0')), 'Failing', 'SMART predicts a failure'],
    [
      'one that passes for itself, and below its threshold',
      ata(true, moved('2040', { when_failed: 'now' })),
      'Failing',
      'Reallocated_Sector_Ct is below its threshold, 2040 sectors were reallocated',
    ],
    ['one that was below it once', ata(true, moved('0', { when_failed: 'past' })), 'Passed', ''],
    [
      'one that is old',
      ata(true, attribute(9, 'Power_On_Hours', '99999', { when_failed: 'now', flags: { prefailure: false } })),
      'Passed',
      '',
    ],
    ['an NVMe disk that is well', nvme(0), 'Passed', ''],
    ['one at the end of its endurance', nvme(0, { percentage_used: 104 }), 'Passed', '104 % of the endurance used'],
    ['one that is hot', nvme(2), 'Passed', 'the temperature is out of range'],
    ['one that can only be read', nvme(8), 'Failing', 'it is read-only'],
    [
      'one that is hot and without spare blocks',
      nvme(3, { media_errors: 7 }),
      'Failing',
      'spare blocks are exhausted, 7 media errors, the temperature is out of range',
    ],
    [
      'a SAS disk that expects to fail',
      { smart_status: { passed: false }, scsi_grown_defect_list: 31 },
      'Failing',
      'SMART predicts a failure, 31 sectors were reallocated',
    ],
    [
      'what it does not know',
      { smartctl: { messages: [{ string: '/dev/sdb: Unknown USB bridge', severity: 'error' }], exit_status: 1 } },
      'Unknown',
      'Unknown USB bridge',
    ],
    ['a disk without SMART', { smart_support: { available: false } }, 'Unknown', 'SMART data is not available'],
  ])('of %s', (_, report, health, healthMessage) => {
    expect(parseSmartHealth(JSON.stringify(report))).toMatchObject({ health, healthMessage });
  });

  it('has the power-on hours', () => {
    expect(parseSmartHealth(JSON.stringify(ata(true)))).toEqual({
      health: 'Passed',
      healthMessage: '',
      powerOnHours: 31416,
    });
  });

  it.each([[''], ['sh: 1: smartctl: not found'], ['[]'], ['{"smart_status":'], ['null']])(
    'is ignored when it is %j',
    (text) => {
      expect(parseSmartHealth(text).health).toBe('Unknown');
    },
  );

  it('may lack any field, and may be any JSON', () => {
    expect(parseSmartHealth(undefined)).toMatchObject({
      health: 'Unknown',
      healthMessage: expect.stringMatching(/timed out/),
    });
    const anyPart = fc.oneof(fc.jsonValue(), fc.constant({ passed: 'yes' }), fc.constant({ table: [{ id: 5 }] }));
    const anyReport = fc.record({
      ...{ smart_status: anyPart, ata_smart_attributes: anyPart, nvme_smart_health_information_log: anyPart },
      ...{ smartctl: anyPart, power_on_time: anyPart, scsi_grown_defect_list: anyPart },
    });
    fc.assert(
      fc.property(anyReport, (report) => {
        expect(parseSmartHealth(JSON.stringify(report)).healthMessage.length).toBeLessThanOrEqual(300);
      }),
    );
  });
});
