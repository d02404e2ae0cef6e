"""The class names and metadata of SDV over Tessera's models, so that one import can be changed.

``from sdv.single_table import CTGANSynthesizer`` becomes ``from tessera_sdv.single_table import CTGANSynthesizer``, and
likewise for ``sdv.metadata``, ``sdv.sampling``, ``sdv.cag`` and ``sdv.evaluation``. Names and file formats follow SDV's
public documentation; the code is Tessera's. What SDV has and this has not raises :class:`tessera.UnsupportedError` that
names the alternative.

>>> from tessera_sdv.metadata import Metadata
>>> from tessera_sdv.single_table import TVAESynthesizer
>>> metadata = Metadata.detect_from_dataframe(people)
>>> synthesizer = TVAESynthesizer(metadata, epochs=1)
>>> synthesizer.fit(people)
>>> len(synthesizer.sample(num_rows=20))
20
"""
