"""python3 -m tensor_core_ladder_sim"""
from . import main

main()
